CREATE TABLE people (
    id INTEGER PRIMARY KEY, name TEXT, city TEXT, weight REAL, code TEXT, score INTEGER, born TEXT, seen TEXT, note TEXT,
    nick TEXT COLLATE NOCASE
);
INSERT INTO people VALUES
    (1, 'Ann', 'Rome', 62.5, '7', 5, '1990-01-31', '2024-02-29 23:30:15', 'a_b', 'Annie'),
    (2, 'Bäcker', 'Rome', NULL, '12abc', 'nil', '1985-12-01', '2024-12-31 00:00:00', 'a\b', 'bob'),
    (3, 'élan', NULL, 71.25, ' 3', '', '2000-07-04', '2023-06-15 12:00:00', 'not a date', NULL),
    (4, 'Érik', 'Oslo', 58.0, NULL, 2, '1999-03-28', '2024-03-01 06:05:04', NULL, 'ERIK'),
    (5, 'abel\', 'Oslo', 80.5, '1e1', 11, NULL, NULL, '2024-05-05', 'x');
CREATE TABLE visits (id INTEGER PRIMARY KEY, person INTEGER, fee REAL);
INSERT INTO visits VALUES (1, 1, 9.5), (2, 1, 20), (3, 3, 11), (4, 7, 1), (5, 10, 2);
CREATE TABLE homes (id INTEGER PRIMARY KEY, street TEXT);
INSERT INTO homes VALUES (1, 'Via'), (4, 'Gate'), (9, 'Weg');
