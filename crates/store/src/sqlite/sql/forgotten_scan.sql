SELECT lane, action, sum FROM forgotten
