"""How annotations are checked in the tests: as they are, but that a whole number will do where a float is asked for."""

from beartype import BeartypeConf, beartype

typecheck = beartype(conf=BeartypeConf(is_pep484_tower=True))
