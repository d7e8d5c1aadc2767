"""`run_worker_first`: which paths go to the worker before an asset is looked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyflare.engines.assets.paths import compile_glob

MAX_RULES = 100
MAX_RULE_CHARACTERS = 100


@dataclass(frozen=True)
class Routing:
    """The rules of a list; `None` from `decide` leaves it to whether there is an asset."""

    to_assets: Sequence[re.Pattern[str]] = ()
    to_worker: Sequence[re.Pattern[str]] = ()

    def decide(self, path: str) -> str | None:
        """ "assets", "worker" or None."""
        if any(rule.fullmatch(path) for rule in self.to_assets):
            return "assets"
        if any(rule.fullmatch(path) for rule in self.to_worker):
            return "worker"
        return None


def parse_routing(rules: Sequence[str]) -> tuple[Routing, str | None]:
    """The rules, and what is wrong with them, in wrangler's words."""
    fault = _count_fault(rules)
    if fault is not None:
        return Routing(), fault
    faults: list[str] = []
    for rule in rules:
        if rule.startswith("!") and not rule.startswith("!/"):
            faults.append(f"'{rule}': negative rules must start with '!/'")
        elif not rule.startswith(("/", "!/")):
            faults.append(f"'{rule}': rules must start with '/' or '!/'")
    negative = [rule for rule in rules if rule.startswith("!/")]
    positive = [rule for rule in rules if rule.startswith("/")]
    if negative and not positive:
        return Routing(), (
            "Only negative `run_worker_first` rules were provided; must provide at least 1 non-negative rule"
        )
    faults += _list_faults(positive) + _list_faults(negative)
    if faults:
        return Routing(), "Invalid routes in `run_worker_first`:\n" + "\n".join(dict.fromkeys(faults))
    return Routing([compile_glob(rule[1:]) for rule in negative], [compile_glob(rule) for rule in positive]), None


def _count_fault(rules: Sequence[str]) -> str | None:
    if not rules:
        return "No `run_worker_first` rules were provided; must provide at least 1 rule."
    if len(rules) > MAX_RULES:
        return (
            f"Too many `run_worker_first` rules were provided; {len(rules)} rules provided exceeds max of {MAX_RULES}."
        )
    return None


def _list_faults(rules: Sequence[str]) -> list[str]:
    faults: list[str] = []
    for at, rule in enumerate(rules):
        if len(rule) > MAX_RULE_CHARACTERS:
            faults.append(f"'{rule}': all rules must be less than {MAX_RULE_CHARACTERS} characters in length")
        if rule in rules[:at]:
            faults.append(f"'{rule}': rule is a duplicate; rules must be unique")
        if rule.endswith("*"):
            covered = [other for other in rules if other != rule and other.startswith(rule[:-1])]
            faults += [f"'{other}': rule '{rule}' makes it redundant" for other in covered]
    return faults
