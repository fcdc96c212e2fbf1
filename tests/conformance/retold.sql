CREATE TABLE staff (
    id INTEGER PRIMARY KEY, name TEXT, team TEXT, code TEXT, hired DATE, seen TIMESTAMP, active BOOLEAN, pay DECIMAL(10,2),
    points INTEGER, ratio REAL
);
INSERT INTO staff VALUES
    (1, 'Ann', 'red', '7', '2023-01-31', '2024-02-29 23:30:15', 1, 1200.5, 7, 2.5),
    (2, 'Bäcker', 'red', 'a_b', '2024-02-29', '2024-12-31 00:00:00', 0, 900, -7, -0.5),
    (3, 'abel', 'blue', 'a\b', '2023-12-31', '2024-06-03 08:05:09', 1, 1500.25, 3, 0.125),
    (4, 'Cy*', 'blue', '50%', '2022-05-08', NULL, 1, NULL, NULL, 3.5),
    (5, 'dee', NULL, '', NULL, '2023-01-01 12:00:00', 0, 10, 0, NULL),
    (6, 'E[x]', 'green', NULL, '2023-01-01', '2023-01-02 11:59:59', 1, 900, 7, 1e10);
CREATE TABLE shifts (id INTEGER PRIMARY KEY, staff INTEGER, started TIMESTAMP, ended TIMESTAMP);
INSERT INTO shifts VALUES
    (1, 1, '2024-03-01 08:00:00', '2024-03-01 16:30:00'),
    (2, 1, '2024-03-31 22:00:00', '2024-04-01 06:00:00'),
    (3, 3, '2024-02-28 00:00:00', '2024-03-01 00:00:01'),
    (4, 9, '2024-01-15 10:00:00', '2024-01-15 10:00:00');
