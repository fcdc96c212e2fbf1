CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT, region TEXT, active INTEGER);
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer_id INTEGER, amount REAL, status TEXT, order_date TEXT);
CREATE TABLE archived_orders(id INTEGER PRIMARY KEY, customer_id INTEGER, amount REAL, status TEXT, order_date TEXT);
INSERT INTO customers VALUES(1,'Acme','EMEA',1),(2,'Beta','APAC',1),(3,'Cora','EMEA',0),(4,'Dyno','AMER',1),(5,'Echo','APAC',0);
INSERT INTO orders VALUES(1,1,100.0,'paid','2026-01-05'),(2,1,50.0,'open','2026-01-09'),(3,2,75.0,'paid','2026-02-01'),
 (4,3,20.0,'void','2026-02-11'),(5,4,300.0,'paid','2026-03-03'),(6,5,10.0,'open','2026-03-04'),(7,2,25.0,'paid','2026-03-09');
INSERT INTO archived_orders VALUES(101,9,1.0,'paid','2019-01-01'),(102,9,2.0,'paid','2019-01-02'),(103,8,3.0,'void','2019-01-03');
