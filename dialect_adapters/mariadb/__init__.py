"""MariaDB: a server of MySQL's family, with its own recipe, grammar and rights."""
