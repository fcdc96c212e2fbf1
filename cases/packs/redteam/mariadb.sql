-- What MariaDB alone has: a sequence, whose next value is a write.
CREATE SEQUENCE counter START WITH 100;
