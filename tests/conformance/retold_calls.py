"""Scalar calls with edge arguments, as Postgres and MySQL write them, drawn at random from templates."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

COLUMNS = """\
format: 1
tables:
  - name: v
    columns:
      - {name: id, kind: int, nullable: false}
      - {name: t, kind: text}
      - {name: u, kind: text}
      - {name: n, kind: text}
      - {name: i, kind: int}
      - {name: j, kind: int}
      - {name: r, kind: float64}
      - {name: q, kind: decimal, precision: 12, scale: 3}
      - {name: d, kind: date}
      - {name: e, kind: date}
      - {name: m, kind: timestamp}
      - {name: b, kind: bool}
    primary_key: [id]
"""
ROWS = """\
id,t,u,n,i,j,r,q,d,e,m,b
1,abc,b,10,0,1,0.5,0.500,2024-01-31,2024-02-29,2024-01-31 23:30:15,true
2,,x,-3,1,2,1.5,1.500,2024-02-29,2024-01-31,2024-02-29 00:00:00,false
3,  pad ,pad,0,-1,3,2.5,2.500,1999-12-31,2000-01-01,1999-12-31 23:59:59,true
4,xyxa,xy,7,2,-3,-2.5,-2.500,2023-10-29,2023-03-26,2023-10-29 02:30:00,
5,ÄÖ é,Ö,42,7,-2,-0.5,-0.500,2024-03-31,2024-03-01,2024-03-31 12:00:00,false
6,a%b_c,%,5,-7,2,3.14159,3.142,2000-02-29,1999-02-28,2000-02-29 06:07:08,true
7,"it's",',99,100,7,1234.5675,1234.568,2024-12-30,2025-01-05,2024-12-30 00:00:01,
8,ABC,bc,1,,4,,,,2024-06-15,,true
9,NULL,,3,5,-4,-7.25,-7.255,2021-01-03,2020-12-28,2021-01-03 18:45:00,false
10,a\\b,\\,12,12,5,0.125,99.995,2024-07-04,2024-07-04,2024-07-04 00:00:00,true
"""
ARGUMENTS = {
    "T": ["t", "u", "n", "'abc'", "''", "'xyxa'", "'Ab c'", "LOWER(t)"],
    "C": ["'b'", "'xy'", "''", "' '", "'B'", "'a'"],
    "I": ["i", "j", "0", "1", "2", "-1", "3", "i + j", "100"],
    "K": ["0", "1", "2", "-1", "-2", "3", "j"],
    "R": ["r", "2.5", "-2.5", "0.5", "r * 2", "i / 4.0", "q", "q / 3"],
    "Q": ["q", "q * 2", "2.345", "-0.5", "q / 3"],
    "D": ["d", "e", "DATE '2024-01-31'", "DATE '2024-02-29'"],
    "M": ["m", "TIMESTAMP '2024-12-31 23:59:59'"],
    "B": ["b", "i > 1", "t = 'abc'", "r IS NULL"],
    "P": ["'%b%'", "'A%'", "'a\\_c%'", "'_b_'", "'%'", "'a%b\\_c'", "''"],
    "U": ["year", "quarter", "month", "week", "day", "hour", "minute", "second"],
    "X": ["year", "quarter", "month", "week", "day", "hour", "minute", "second", "dow", "isodow", "doy", "epoch"],
    "N": ["1", "2", "-1", "13", "0", "30"],
}
BOTH = """
LEFT(T, K)|RIGHT(T, K)|SUBSTRING(T, K)|SUBSTRING(T, K, K)|SUBSTR(T, K, K)|SUBSTRING(T FROM K FOR K)|LTRIM(T)|RTRIM(T)
TRIM(T)|TRIM(BOTH C FROM T)|TRIM(LEADING C FROM T)|TRIM(TRAILING C FROM T)|REPLACE(T, C, C)|REPLACE(T, C, T)|UPPER(T)
LOWER(T)|CHAR_LENGTH(T)|LENGTH(LOWER(n))|CONCAT(T, T)|CONCAT(T, I, T)|CONCAT(T, '-', D)|CONCAT_WS(C, T, T)
CONCAT_WS('-', T, I)|POSITION(C IN T)|POSITION(T IN T)|REVERSE(n)|REPEAT(C, K)|LPAD(T, K, C)|RPAD(T, I, C)|ASCII(n)
ROUND(R)|ROUND(Q)|ROUND(Q, K)|ROUND(I)|ROUND(I, K)|FLOOR(R)|CEIL(R)|CEILING(Q)|ABS(R)|ABS(I)|SIGN(I)|SIGN(R)|MOD(I, K)
I % K|I / K|R / K|Q / K|I * R|I - R|- R|POWER(I, 2)|SQRT(ABS(R))|EXP(I / 100.0)|LN(ABS(R) + 1)|I + Q|COALESCE(T, C)
COALESCE(I, 0)|COALESCE(D, D)|NULLIF(T, C)|NULLIF(I, K)|GREATEST(I, K)|LEAST(I, K, j)|GREATEST(T, C)|LEAST(D, D)
CASE WHEN B THEN I ELSE R END|CASE I WHEN 0 THEN T WHEN 1 THEN C END|CASE WHEN B THEN D END|EXTRACT(U FROM M)
EXTRACT(YEAR FROM D)|EXTRACT(MONTH FROM D)|EXTRACT(DAY FROM D)|EXTRACT(QUARTER FROM D)|EXTRACT(HOUR FROM M)|T LIKE P
T NOT LIKE P|LOWER(T) LIKE P|T = C|T < T|T IN (C, C, T)|D BETWEEN D AND D|D < M|I BETWEEN K AND K|D = '2024-01-31'
M >= '2024-01-01'|M < '2024-02-29'|B AND B|NOT B|B OR B|B IS NULL|I IS NOT NULL|T IS NULL
CASE WHEN I > K THEN 'x' ELSE T END|R * 100|R * 100 / 3|R + R|100.0 * I / 7|I / 7.0 * 100|CAST(I AS CHAR(10))
CAST(D AS CHAR(10))
"""
POSTGRES = """
BTRIM(T, C)|LTRIM(T, C)|RTRIM(T, C)|STRPOS(T, C)|T || T|T || I|I || T|D || ''|SPLIT_PART(T, C, 1)
SPLIT_PART(T, ' ', K)|INITCAP(n)|MD5(T)|CAST(R AS INTEGER)|CAST(Q AS INTEGER)|CAST(n AS INTEGER)|CAST(R AS BIGINT)
Q::int|r::int|(r * 2)::bigint|CAST(I AS TEXT)|CAST(R AS TEXT)|CAST(Q AS TEXT)|CAST(D AS TEXT)|CAST(M AS TEXT)
CAST(B AS TEXT)|B::int|CAST(I AS NUMERIC(10, 2))|CAST(r AS NUMERIC(10, 1))|CAST(q AS NUMERIC)|ROUND(r::numeric, K)
ROUND(2.5::float8)|ROUND(r)|TRUNC(R)|TRUNC(Q, 1)|CAST(M AS DATE)|CAST(D AS TIMESTAMP)|M::date|D::timestamp
DATE_TRUNC('U', M)|DATE_TRUNC('U', D)|EXTRACT(X FROM M)|EXTRACT(X FROM D)|DATE_PART('X', M)|D + N|D - N|D - D
D + INTERVAL 'N U'|D - INTERVAL 'N U'|M + INTERVAL 'N U'|M - INTERVAL 'N U'|D - INTERVAL 'N U ago'
D + INTERVAL '1 day -02:00'|D + INTERVAL '1 month 2 days'|M + INTERVAL '01:30'|M + i * INTERVAL '1 day'
M + K * INTERVAL '1 month'|EXTRACT(EPOCH FROM M - TIMESTAMP '2024-01-01')|EXTRACT(DAY FROM M - TIMESTAMP '2024-01-01')
EXTRACT(EPOCH FROM M - M) / 3600|M - M > INTERVAL '1 day'|M - TIMESTAMP '2024-01-01' < INTERVAL '36 hours'
TO_CHAR(M, 'YYYY-MM')|TO_CHAR(D, 'YYYY-MM-DD')|TO_CHAR(M, 'HH24:MI:SS')|TO_CHAR(D, 'Month')|TO_CHAR(D, 'Dy')
TO_CHAR(D, 'IYYY-IW')|TO_CHAR(D, 'FMMM/FMDD/YY')|TO_CHAR(I, '999')|T ILIKE P|T NOT ILIKE P|T ~ '^a'|T ~* 'B'
T SIMILAR TO 'a%'|REGEXP_REPLACE(T, 'b', 'X')|REGEXP_REPLACE(T, '[a-c]', '', 'g')|I IS DISTINCT FROM K
T IS NOT DISTINCT FROM C|B IS TRUE|B IS NOT TRUE|b = TRUE|B = B|GREATEST(I, NULL)|LEAST(T, NULL)|AGE(M, m)
MAKE_DATE(2024, 2, 29)|I & 3|I # 1|I << 1|@ I|I ^ 2|CBRT(R)|DIV(Q, 2)|2 ^ 3|FACTORIAL(3)|WIDTH_BUCKET(i, 0, 10, 5)
STARTS_WITH(T, C)|CHR(65)|TRANSLATE(n, '1', 'x')|OVERLAY(T PLACING C FROM 1)|QUOTE_LITERAL(T)|TO_HEX(255)
SUBSTRING(T FROM 'b')
"""
MYSQL = """
CAST(R AS SIGNED)|CAST(Q AS SIGNED)|CAST(n AS SIGNED)|CAST(R AS DECIMAL(10, 1))|CAST(I AS DECIMAL(10, 2))
CAST(M AS DATE)|CAST(D AS DATETIME)|CAST(n AS DOUBLE)|ROUND(r, K)|ROUND(r * 10, 1)|ROUND(2.5E0)|TRUNCATE(R, 0)
TRUNCATE(Q, 1)|I DIV K|I MOD K|DATE_ADD(D, INTERVAL N U)|DATE_SUB(D, INTERVAL N U)|DATE_ADD(M, INTERVAL N U)
DATE_SUB(M, INTERVAL N U)|D + INTERVAL N U|M - INTERVAL N U|DATE_ADD(D, INTERVAL i DAY)|DATE_ADD(D, INTERVAL i MONTH)
DATEDIFF(D, D)|DATEDIFF(M, D)|TIMESTAMPDIFF(U, D, D)|TIMESTAMPDIFF(U, M, M)|TIMESTAMPDIFF(MONTH, D, D)
TIMESTAMPDIFF(DAY, M, M)|TIMESTAMPDIFF(YEAR, D, D)|YEAR(D)|MONTH(M)|DAY(D)|HOUR(M)|MINUTE(M)|SECOND(M)|QUARTER(D)
WEEK(D)|WEEK(D, 3)|WEEKOFYEAR(D)|YEARWEEK(D)|DAYOFWEEK(D)|WEEKDAY(D)|DAYOFYEAR(M)|DAYNAME(D)|MONTHNAME(D)|LAST_DAY(D)
DATE_FORMAT(M, '%Y-%m')|DATE_FORMAT(D, '%Y-%m-%d')|DATE_FORMAT(M, '%H:%i:%s')|DATE_FORMAT(D, '%b %e')
DATE_FORMAT(D, '%W')|DATE_FORMAT(D, '%x-%v')|DATE(M)|TIME(M)|UNIX_TIMESTAMP(M)|FROM_UNIXTIME(0)
STR_TO_DATE('2024-02-29', '%Y-%m-%d')|MAKEDATE(2024, 60)|D - D|D + 1|M + 0|IF(B, I, K)|IF(B, T, C)|IFNULL(T, C)
IFNULL(I, 0)|NULLIF(R, 0.5)|I <=> K|T <=> C|NOT (I <=> K)|INSTR(T, C)|LOCATE(C, T)|LOCATE(C, T, 2)
SUBSTRING_INDEX(T, C, 1)|SUBSTRING_INDEX(T, ' ', K)|FIELD(T, 'abc', 'b')|FIND_IN_SET('a', 'b,a')|FORMAT(Q, 1)|HEX(255)
MD5(T)|T REGEXP '^a'|REGEXP_REPLACE(T, 'b', 'X')|T LIKE BINARY P|BINARY T = C|LCASE(T)|UCASE(T)|MID(T, K, K)|SPACE(2)
STRCMP(T, C)|INSERT(T, 1, 1, C)|B = 1|B = TRUE|B IS TRUE|b + 1|I AND K|I XOR K|!b|I & 3|I << 1|I ^ 1|~I & 7
GREATEST(I, NULL)|LEAST(T, NULL)|GREATEST(I, R)|CONCAT(T, NULL)|EXTRACT(YEAR_MONTH FROM D)|ADDDATE(D, 3)|SUBDATE(D, 3)
TO_DAYS(D) - TO_DAYS(D)|PERIOD_DIFF(202402, 202312)|LOG(2, 8)|LOG(ABS(R) + 1)|LOG10(100)|RADIANS(R)
"""
_PLACE = re.compile(r"(?<!%)\b[A-Z]\b")


def _whole(text: str) -> list[str]:
    """Return the templates of one line; `||` is an operator, and no border."""
    return [one.replace("\0", "||") for one in text.replace("||", "\0").split("|")]


def calls(dialect: str, seed: int, each: int) -> Iterator[str]:
    """Yield `each` calls of every template, each once, their arguments drawn at random."""
    own = {"postgres": POSTGRES, "mysql": MYSQL}[dialect]
    chosen = random.Random(seed)
    given: set[str] = set()
    for text in (BOTH, own):
        for line in text.strip().splitlines():
            for template in _whole(line):
                for _ in range(each):
                    call = _PLACE.sub(lambda found: chosen.choice(ARGUMENTS[found[0]]), template)
                    if call not in given:
                        given.add(call)
                        yield call
