-- The data every MySQL and MariaDB attack and look-alike was verified on; evalx.gold is a planted stand-in no reader has rights on.
CREATE TABLE customers(id int primary key, name varchar(100), email varchar(100), country varchar(10), update_date datetime default '2024-01-01', deleted int default 0, fulltext(name));
INSERT INTO customers(id, name, email, country) WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 50) SELECT n, CONCAT('name', n), 'e', 'FR' FROM r;
CREATE TABLE orders(id int primary key, customer_id int, amount decimal(10,2), status varchar(10), created_at datetime default '2024-02-01', key orders_c(customer_id));
INSERT INTO orders(id, customer_id, amount, status) WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 500) SELECT n, n % 50 + 1, n * 1.5, 'paid' FROM r;
CREATE TABLE t(id int primary key, v varchar(64));
INSERT INTO t WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 200) SELECT 200 * (a.n - 1) + b.n, SHA2(200 * (a.n - 1) + b.n, 256) FROM r a JOIN r b WHERE a.n <= 100;
CREATE TABLE t_text(l varchar(2000));
CREATE TABLE kw(`delete` int, `grant` int, `update` int);
CREATE TABLE ops(merge_flag int, call_count int, load_factor int, set_no int, lock_state int, handler_id int, values_count int);
CREATE TABLE grants(grant_amount int, revoke_reason text, truncate_at date);
CREATE TABLE orders_p(id int) PARTITION BY RANGE(id)(PARTITION p0 VALUES LESS THAN (10));
CREATE VIEW v_sales AS SELECT id, amount FROM orders;
CREATE DATABASE IF NOT EXISTS evalx;
CREATE TABLE IF NOT EXISTS evalx.gold(q varchar(10), answer varchar(40));
DELETE FROM evalx.gold;
INSERT INTO evalx.gold VALUES ('q1', 'planted-gold-5d1f42'), ('q2', 'planted-gold-5d1f43');
DELIMITER //
CREATE FUNCTION f_wipe() RETURNS INT MODIFIES SQL DATA SQL SECURITY INVOKER BEGIN DELETE FROM orders; RETURN 1; END//
CREATE PROCEDURE p_wipe() SQL SECURITY INVOKER BEGIN DELETE FROM orders; END//
CREATE PROCEDURE p_escape() SQL SECURITY DEFINER BEGIN COMMIT; START TRANSACTION READ WRITE; DELETE FROM orders; COMMIT; END//
CREATE PROCEDURE p_dyn(s text) SQL SECURITY INVOKER BEGIN SET @q = s; PREPARE p FROM @q; EXECUTE p; END//
DELIMITER ;
CREATE USER IF NOT EXISTS ro@localhost;
GRANT SELECT, EXECUTE, SHOW VIEW ON shop.* TO ro@localhost;
CREATE USER IF NOT EXISTS hard@localhost;
GRANT SELECT ON shop.* TO hard@localhost;
