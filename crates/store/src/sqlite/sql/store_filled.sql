-- What must not be there where an export is to be put.
SELECT EXISTS (SELECT 1 FROM action), EXISTS (SELECT 1 FROM report), EXISTS (SELECT 1 FROM entry)
