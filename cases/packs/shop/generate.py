"""Writes the data of the `shop` pack: every table as gzip CSV, the same bytes of CSV on every Python from 3.11."""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

HERE = Path(__file__).resolve().parent
SEED = 20250630
FIRST_DAY = date(2023, 1, 1)
LAST_DAY = date(2025, 6, 30)
CENT = Decimal("0.01")

T = TypeVar("T")
Rows: TypeAlias = list[tuple[object, ...]]
Table: TypeAlias = tuple[tuple[str, ...], Rows]
Tables: TypeAlias = dict[str, Table]


class Dice:
    """Draws from random(), whose stream Python promises to keep; its other methods may change between versions."""

    def __init__(self, salt: int) -> None:
        """Give each table its own stream, so that a change to one table leaves the others as they are."""
        self._random = random.Random(SEED * 100 + salt)  # noqa: S311 - test data, no secret

    def chance(self, share: float) -> bool:
        """Return True in about `share` of the draws."""
        return self._random.random() < share

    def between(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included."""
        return low + int(self._random.random() * (high - low + 1))

    def pick(self, values: Sequence[T]) -> T:
        """Return one of the values, each equally likely."""
        return values[self.between(0, len(values) - 1)]

    def skewed(self, values: Sequence[T]) -> T:
        """Return one of the values, early ones far more often."""
        return values[int(self._random.random() * self._random.random() * len(values))]

    def maybe(self, value: T, share: float) -> T | None:
        """Return the value in about `share` of the draws, else None."""
        return value if self.chance(share) else None

    def day(self, first: date = FIRST_DAY, last: date = LAST_DAY) -> date:
        """Return a day between two days, both included."""
        return first + timedelta(days=self.between(0, (last - first).days))

    def moment(self, day: date) -> datetime:
        """Return a whole second of the day, in shop hours more often than at night."""
        hour = self.between(8, 21) if self.chance(0.9) else self.between(0, 23)
        return datetime(day.year, day.month, day.day, hour, self.between(0, 59), self.between(0, 59))


WORDS: Any = json.loads((HERE / "vocabulary.json").read_text(encoding="utf-8"))
COUNTRIES: list[str] = [row[0] for row in WORDS["countries"]]


def countries(_: Tables) -> Table:
    """List the countries; three of them have no customer."""
    return ("code", "name", "region", "currency"), [tuple(row) for row in WORDS["countries"]]


def stores(_: Tables) -> Table:
    """Open fourteen stores in order of age; two have closed, one has not opened by the last day."""
    dice = Dice(1)
    rows: Rows = []
    for number in range(1, 15):
        code = ["DE", "DE", "FR", "AT", "NL", "SE", "JP", "US", "ES", "PL", "IT", "GB", "DE", "US"][number - 1]
        city = dice.pick(WORDS["cities"][code])
        opened = date(2014, 3, 1) + timedelta(days=260 * number) if number < 14 else date(2025, 9, 1)
        closed = {5: date(2024, 2, 29), 9: date(2024, 12, 31)}.get(number)
        rows.append((number, f"{city} {number}", city, code, opened, closed))
    return ("id", "name", "city", "country_code", "opened_on", "closed_on"), rows


def employees(_: Tables) -> Table:
    """Build a four-level tree: one head, four regional managers, a manager per store, their clerks."""
    dice = Dice(2)
    rows: Rows = []
    levels: list[tuple[int, int | None, str, int | None]]
    levels = [(1, None, "Head", None), *((n, 1, "Regional manager", None) for n in range(2, 6))]
    levels += [(5 + store, 2 + store % 4, "Store manager", store) for store in range(1, 15)]
    levels += [(n, 5 + dice.between(1, 13), "Clerk", 0) for n in range(20, 141)]
    base = {"Head": 9800, "Regional manager": 6400, "Store manager": 4200, "Clerk": 2400}
    for number, manager, title, store in levels:
        salary = Decimal(base[title] + 50 * dice.between(0, 18)) + dice.pick([Decimal("0.00"), Decimal("0.50")])
        hired = dice.day(date(2014, 3, 1), date(2025, 5, 31))
        name = f"{dice.pick(WORDS['first_names'])} {dice.pick(WORDS['last_names'])}"
        where = (manager or 0) - 5 if store == 0 else store
        rows.append((number, name, title, manager, where, hired, salary))
    return ("id", "name", "title", "manager_id", "store_id", "hired_on", "salary"), rows


def categories(_: Tables) -> Table:
    """Number the category tree; roots have no parent."""
    number = {name: place for place, (name, _) in enumerate(WORDS["categories"], 1)}
    rows: Rows = [(number[name], name, number.get(parent)) for name, parent in WORDS["categories"]]
    return ("id", "name", "parent_id"), rows


def suppliers(_: Tables) -> Table:
    """Name forty suppliers; some share a name, some were never rated."""
    dice = Dice(3)
    rows: Rows = []
    for number in range(1, 41):
        rating = dice.maybe(Decimal(dice.between(20, 50)) / 10, 0.8)
        rows.append((number, dice.pick(WORDS["suppliers"]), dice.pick(COUNTRIES), rating, dice.chance(0.85)))
    return ("id", "name", "country_code", "rating", "active"), rows


def attributes(dice: Dice) -> str:
    """Write a product's JSON: color always; warranty, eco and size where known."""
    facts: dict[str, object] = {"color": dice.pick(WORDS["colors"])}
    if dice.chance(0.6):
        facts["warranty_months"] = dice.pick([6, 12, 24, 36])
    if dice.chance(0.5):
        facts["eco"] = dice.chance(0.5)
    facts["size"] = {"w": dice.between(5, 80), "h": dice.between(5, 120)}
    facts["materials"] = [dice.pick(["steel", "wood", "cotton", "竹"]) for _ in range(dice.between(0, 3))]
    return json.dumps(facts, ensure_ascii=False)


def products(tables: Tables) -> Table:
    """Stock 900 products; price and launch day are shared by many, cost and supplier are sometimes unknown."""
    dice = Dice(4)
    rows: Rows = []
    numbers = {row[1]: row[0] for row in tables["categories"][1]}
    leaves = sorted(WORDS["nouns"])
    for number in range(1, 901):
        leaf = dice.pick(leaves)
        name = f"{dice.pick(WORDS['adjectives'])} {dice.pick(WORDS['nouns'][leaf])}"
        price = Decimal(dice.skewed(range(2, 400))) + dice.pick([Decimal("0.99"), Decimal("0.49"), Decimal("0.00")])
        cost = dice.maybe((price * dice.between(35, 80) / 100).quantize(CENT), 0.92)
        weight = dice.maybe(dice.between(1, 400) / 8, 0.85)
        facts = attributes(dice) if dice.chance(0.8) else None
        launched = dice.day(date(2019, 1, 1), date(2025, 5, 31))
        supplier = dice.maybe(dice.between(1, 36), 0.95)
        gone = dice.chance(0.12)
        rows.append(
            (number, f"P-{number:05d}", name, numbers[leaf], supplier, price, cost, weight, facts, gone, launched)
        )
    names = ("id", "sku", "name", "category_id", "supplier_id", "price", "cost", "weight_kg", "attributes")
    return (*names, "discontinued", "launched_on"), rows


def tags(_: Tables) -> Table:
    """Number the tags; the last one is on no product."""
    return ("id", "label"), [(number, label) for number, label in enumerate(WORDS["tags"], 1)]


def product_tags(tables: Tables) -> Table:
    """Put up to five tags on a product, the common ones far more often."""
    dice = Dice(5)
    rows: Rows = []
    usable = [number for number, label in enumerate(WORDS["tags"], 1) if label != "unused-tag"]
    for product in tables["products"][1]:
        chosen = {dice.skewed(usable) for _ in range(dice.between(0, 5))}
        rows.extend((product[0], tag) for tag in sorted(chosen))
    return ("product_id", "tag_id"), rows


def price_history(tables: Tables) -> Table:
    """Give each product up to four price periods without gaps; the last one is open and holds today's price."""
    dice = Dice(6)
    rows: Rows = []
    for product in tables["products"][1]:
        price, start = Decimal(str(product[5])), date.fromisoformat(str(product[10]))
        changes = sorted({dice.day(start, LAST_DAY) for _ in range(dice.between(0, 3))} - {start})
        starts = [start, *changes]
        for place, first in enumerate(starts):
            last = starts[place + 1] - timedelta(days=1) if place + 1 < len(starts) else None
            was = price if last is None else (price * dice.between(70, 125) / 100).quantize(CENT)
            rows.append((product[0], first, last, was))
    return ("product_id", "valid_from", "valid_to", "price"), rows


def customers(_: Tables) -> Table:
    """Register 5,000 customers: shared names, unknown emails, empty and unknown phones, referrers."""
    dice = Dice(7)
    rows: Rows = []
    homes = [code for code in COUNTRIES if code not in {"IS", "KR", "IN"}]
    for number in range(1, 5001):
        code = dice.maybe(dice.skewed(homes), 0.96)
        first, last = dice.pick(WORDS["first_names"]), dice.pick(WORDS["last_names"])
        email = dice.maybe(f"c{number}@{dice.pick(['example.com', 'example.org', 'mail.example'])}", 0.93)
        phone = dice.pick([None, "", f"+{dice.between(30, 49)} {dice.between(100000, 999999)}"])
        city = dice.pick(WORDS["cities"][code]) if code else None
        born = dice.maybe(dice.day(date(1940, 1, 1), date(2006, 12, 31)), 0.8)
        joined = dice.moment(dice.day(date(2021, 1, 1), LAST_DAY))
        news = dice.pick([True, False, False, None])
        referrer = dice.maybe(dice.between(1, max(1, number // 2)), 0.15) if number > 50 else None
        rows.append((number, first, last, email, phone, city, code, born, joined, news, referrer))
    names = ("id", "first_name", "last_name", "email", "phone", "city", "country_code", "birth_date", "joined_at")
    return (*names, "newsletter", "referrer_id"), rows


def orders(tables: Tables) -> Table:
    """Take 14,000 orders in order of time; online ones have no store and no clerk."""
    dice = Dice(8)
    rows: Rows = []
    clerks: dict[object, list[object]] = {}
    for person in tables["employees"][1]:
        clerks.setdefault(person[4], []).append(person[0])
    moments = sorted(dice.moment(dice.day()) for _ in range(14000))
    buyers = [number for number in range(1, 5001) if number % 5]
    for number, moment in enumerate(moments, 1):
        store = dice.maybe(dice.between(1, 13), 0.6)
        clerk = dice.maybe(dice.pick(clerks[store]), 0.9) if store else None
        words = ["delivered"] * 12 + ["shipped"] * 2 + ["cancelled"] * 2 + ["returned", "pending", "paid"]
        status = dice.pick(words)
        sent = moment.date() + timedelta(days=dice.between(0, 9))
        shipped = sent if status in {"delivered", "shipped", "returned"} else None
        coupon = dice.pick(["SPRING", "VIP10", "käse5"]) if dice.chance(0.2) else None
        fee = dice.pick([Decimal("0.00"), Decimal("4.90"), Decimal("7.50"), Decimal("12.00")])
        rows.append((number, dice.skewed(buyers), store, clerk, moment, status, shipped, coupon, fee))
    names = ("id", "customer_id", "store_id", "employee_id", "ordered_at", "status", "shipped_on", "coupon")
    return (*names, "shipping_fee"), rows


def order_items(tables: Tables) -> Table:
    """Fill the orders with one to five lines; one order in fifty is empty, a product may come twice."""
    dice = Dice(9)
    rows: Rows = []
    stock = tables["products"][1][:880]
    for order in tables["orders"][1]:
        count = 0 if dice.chance(0.02) else dice.between(1, 3) + dice.between(0, 2)
        for line in range(1, count + 1):
            product = dice.skewed(stock)
            percent = dice.pick([0, 0, 0, 5, 10, 25])
            rows.append((order[0], line, product[0], 1 + dice.skewed(range(6)), product[5], percent))
    return ("order_id", "line_no", "product_id", "quantity", "unit_price", "discount_percent"), rows


def due(tables: Tables) -> dict[object, Decimal]:
    """Add up what each order costs, shipping included, to the cent."""
    total: dict[object, Decimal] = {order[0]: Decimal(str(order[8])) for order in tables["orders"][1]}
    for order, _, _, quantity, price, percent in tables["order_items"][1]:
        total[order] += Decimal(str(quantity)) * Decimal(str(price)) * (100 - Decimal(str(percent))) / 100
    return {order: amount.quantize(CENT) for order, amount in total.items()}


def payments(tables: Tables) -> Table:
    """Pay the orders, some in two parts, some never; the paying moment is unknown now and then."""
    dice = Dice(10)
    rows: Rows = []
    owed = due(tables)
    for order in tables["orders"][1]:
        moment = datetime.fromisoformat(str(order[4]))
        if order[5] in {"pending", "cancelled"} and dice.chance(0.8):
            continue
        whole = owed[order[0]]
        first = (whole / 2).quantize(CENT) if dice.chance(0.1) else whole
        for amount in [first, whole - first] if first != whole else [whole]:
            paid = dice.maybe(moment + timedelta(minutes=dice.between(1, 4000)), 0.97)
            method = dice.pick(["card", "card", "transfer", "paypal", "現金"])
            rows.append((len(rows) + 1, order[0], method, amount, paid, order[5] == "returned"))
    return ("id", "order_id", "method", "amount", "paid_at", "refunded"), rows


def reviews(tables: Tables) -> Table:
    """Write 5,000 reviews; stars or title are missing at times, some customers review a product twice."""
    dice = Dice(11)
    rows: Rows = []
    stock = [row[0] for row in tables["products"][1][:850]]
    for number in range(1, 5001):
        stars = dice.maybe(dice.pick([1, 2, 3, 4, 4, 5, 5, 5]), 0.95)
        title = dice.maybe(dice.pick(WORDS["review_titles"]), 0.7)
        when = dice.day(date(2023, 1, 10))
        body = dice.pick(WORDS["review_bodies"])
        rows.append((number, dice.skewed(stock), dice.skewed(range(1, 5001)), stars, title, body, when))
    return ("id", "product_id", "customer_id", "stars", "title", "body", "written_on"), rows


def stock_movements(_: Tables) -> Table:
    """Move stock in and out of the stores 7,000 times."""
    dice = Dice(12)
    rows: Rows = []
    for number in range(1, 7001):
        reason = dice.pick(["delivery", "sale", "sale", "damage", "count"])
        amount = {"delivery": dice.between(5, 60), "count": dice.between(-3, 3)}.get(reason, -dice.between(1, 5))
        rows.append((number, dice.between(1, 900), dice.between(1, 13), dice.moment(dice.day()), reason, amount))
    return ("id", "product_id", "store_id", "moved_at", "reason", "amount"), rows


def page_views(_: Tables) -> Table:
    """Log 9,000 page views without a key; rows may repeat exactly, visitors may be unknown."""
    dice = Dice(13)
    rows: Rows = []
    while len(rows) < 9000:
        visitor = dice.maybe(dice.skewed(range(1, 5001)), 0.7)
        moment = dice.moment(dice.day(date(2025, 4, 1)))
        row = (visitor, dice.skewed(WORDS["paths"]), dice.pick(["desktop", "mobile", "mobile", "tablet"]), moment)
        rows.extend([row, row] if dice.chance(0.03) else [row])
    return ("customer_id", "path", "device", "viewed_at"), rows[:9000]


def gift_cards(_: Tables) -> Table:
    """Sell no gift card yet: the table is empty."""
    return ("code", "customer_id", "balance", "issued_on"), []


BUILDERS = (countries, stores, employees, categories, suppliers, products, tags, product_tags, price_history)
BUILDERS_OF_TRADE = (customers, orders, order_items, payments, reviews, stock_movements, page_views, gift_cards)


def build() -> Tables:
    """Make every table, each from those before it."""
    tables: Tables = {}
    for builder in (*BUILDERS, *BUILDERS_OF_TRADE):
        tables[builder.__name__] = builder(tables)
    return tables


def cell(value: object) -> str:
    """Spell one value for CSV; NULL is an unquoted empty field, so every text is quoted."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    return value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)


def csv_text(table: Table) -> str:
    """Write a table as CSV with a header line and plain line feeds."""
    header, rows = table
    return "".join(",".join(line) + "\n" for line in [header, *(map(cell, row) for row in rows)])


def write(folder: Path) -> None:
    """Write one gzip file a table, without a time stamp inside."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in build().items():
        (folder / f"{name}.csv.gz").write_bytes(gzip.compress(csv_text(table).encode(), 9, mtime=0))


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "data")
