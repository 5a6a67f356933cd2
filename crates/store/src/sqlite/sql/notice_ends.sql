SELECT (SELECT min(no) FROM notice), (SELECT max(no) FROM notice)
