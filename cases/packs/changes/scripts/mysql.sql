CREATE TABLE departments (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL UNIQUE, budget DECIMAL(12, 2) NOT NULL);
CREATE TABLE employees (
  id INT AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(40) NOT NULL,
  department_id INT NOT NULL,
  salary DECIMAL(10, 2) NOT NULL CHECK (salary > 0),
  hired DATE NOT NULL,
  FOREIGN KEY (department_id) REFERENCES departments (id) ON DELETE CASCADE
);
CREATE TABLE salary_log (employee_id INT NOT NULL, old_salary DECIMAL(10, 2) NOT NULL, new_salary DECIMAL(10, 2) NOT NULL);
CREATE TABLE stock (sku VARCHAR(10) PRIMARY KEY, quantity INT NOT NULL);
CREATE TABLE arrivals (sku VARCHAR(10) NOT NULL, quantity INT NOT NULL);
CREATE TABLE readings (id INT PRIMARY KEY, value INT NOT NULL);
INSERT INTO departments VALUES (1, 'Research', 500000), (2, 'Sales', 250000.50), (3, 'Archive', 10000);
INSERT INTO employees (name, department_id, salary, hired) VALUES
  ('Ada', 1, 7000, '2019-03-01'), ('Blaise', 1, 6400.50, '2020-07-15'), ('Carl', 2, 5200, '2018-01-02'),
  ('Dana', 2, 4800, '2022-11-30'), ('Émile', 3, 3900, '2015-05-05'), ('Fay', 3, 4100, '2016-06-06');
INSERT INTO stock VALUES ('A-1', 10), ('B-2', 0), ('C-3', 7);
INSERT INTO arrivals VALUES ('A-1', 5), ('D-4', 12);
/*!80000 SET SESSION cte_max_recursion_depth = 2000 */;
INSERT INTO readings WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1500) SELECT n, n % 97 FROM n;
CREATE VIEW well_paid AS SELECT id, name FROM employees WHERE salary > 5000;
DELIMITER //
CREATE TRIGGER salary_changed AFTER UPDATE ON employees FOR EACH ROW
BEGIN
  IF OLD.salary <> NEW.salary THEN
    INSERT INTO salary_log VALUES (OLD.id, OLD.salary, NEW.salary);
  END IF;
END//
