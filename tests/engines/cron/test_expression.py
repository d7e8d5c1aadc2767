"""Cloudflare's dialect of cron."""

from __future__ import annotations

import datetime as dt

import pytest
from croniter import croniter
from hypothesis import given, settings
from hypothesis import strategies as st

from pyflare.engines.cron.expression import CronFault, Expression, parse

MONDAY = "2026-03-02 12:30"  # a Monday


def at(text: str) -> float:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC).timestamp()


def following(expression: str, after: str = MONDAY, count: int = 1) -> list[str]:
    times = parse(expression).times(at(after), count)
    return [dt.datetime.fromtimestamp(moment, dt.UTC).strftime("%Y-%m-%d %H:%M") for moment in times]


def refusal(expression: str) -> CronFault:
    with pytest.raises(CronFault) as raised:
        parse(expression)
    return raised.value


@pytest.mark.parametrize(
    ("expression", "next_time"),
    [
        ("* * * * *", "2026-03-02 12:31"),
        ("30 12 * * *", "2026-03-03 12:30"),  # strictly after
        ("0 1 * * *", "2026-03-03 01:00"),
        ("*/15 * * * *", "2026-03-02 12:45"),
        ("5/20 * * * *", "2026-03-02 12:45"),
        ("10-20/5 * * * *", "2026-03-02 13:10"),
        ("59 23 31 12 *", "2026-12-31 23:59"),
        ("0 0 1,15 * *", "2026-03-15 00:00"),
        ("0 0 * JAN,jun *", "2026-06-01 00:00"),
        ("0 0 31 * *", "2026-03-31 00:00"),
        ("0 0 29 2 *", "2028-02-29 00:00"),
        ("0 22-4 * * *", "2026-03-02 22:00"),
        ("0 0 * 11-2 *", "2026-11-01 00:00"),
    ],
)
def test_the_next_time(expression: str, next_time: str) -> None:
    assert following(expression) == [next_time]


@pytest.mark.cloudflare("workers/configuration/cron-triggers")
@pytest.mark.parametrize(
    ("expression", "days"),
    [
        ("0 0 * * 1", ["2026-03-08", "2026-03-15"]),  # 1 is Sunday
        ("0 0 * * 7", ["2026-03-07", "2026-03-14"]),
        ("0 0 * * sun", ["2026-03-08", "2026-03-15"]),
        ("0 0 * * MON-FRI", ["2026-03-03", "2026-03-04"]),
        ("0 0 * * FRI-SUN", ["2026-03-06", "2026-03-07"]),
        ("0 0 * * 2#1", ["2026-04-06", "2026-05-04"]),  # the first Monday
        ("0 0 * * 5#5", ["2026-04-30", "2026-07-30"]),  # a fifth Thursday
        ("0 18 * * 6L", ["2026-03-27", "2026-04-24"]),  # the last Friday
        ("0 0 * * friL", ["2026-03-27", "2026-04-24"]),
        ("0 0 * * L", ["2026-03-07", "2026-03-14"]),
        ("59 23 LW * *", ["2026-03-31", "2026-04-30"]),
        ("0 0 L * *", ["2026-03-31", "2026-04-30"]),
        ("0 0 L-3 * *", ["2026-03-28", "2026-04-27"]),
        ("0 0 L-3W * *", ["2026-03-27", "2026-04-27"]),  # the 28th of March is a Saturday
        ("0 0 15W * *", ["2026-03-16", "2026-04-15"]),  # the 15th of March is a Sunday
        ("0 0 1W * *", ["2026-04-01", "2026-05-01"]),
        ("0 0 13 * FRI", ["2026-03-06", "2026-03-13"]),  # either day will do
    ],
)
def test_days(expression: str, days: list[str]) -> None:
    assert [moment[:10] for moment in following(expression, count=2)] == days


def test_the_nearest_working_day_stays_within_its_month() -> None:
    assert following("0 0 1W * *", "2026-07-31 00:00") == ["2026-08-03 00:00"]  # the 1st of August is a Saturday
    assert following("0 0 31W * *", "2026-05-02 00:00") == ["2026-05-29 00:00"]  # the 31st of May is a Sunday


def test_a_weekday_of_the_29th_of_february_is_found() -> None:
    times = following("0 0 29 2 *", "2028-03-01 00:00", count=2)
    assert times == ["2032-02-29 00:00", "2036-02-29 00:00"]


def test_a_day_that_no_month_has_never_comes() -> None:
    assert parse("0 0 31 2 *").next_after(at(MONDAY)) is None


def test_five_times_follow_each_other() -> None:
    assert following("0 */6 * * *", count=5) == [
        "2026-03-02 18:00", "2026-03-03 00:00", "2026-03-03 06:00", "2026-03-03 12:00", "2026-03-03 18:00",
    ]  # fmt: skip


def test_sunday_is_not_0() -> None:
    assert refusal("0 0 * * 0").shown == (
        "day of week: weekdays go from 1 (Sunday) to 7 (Saturday): for Sunday write 1 or SUN, not 0\n"
        "    0 0 * * 0\n"
        "            ^"
    )


@pytest.mark.parametrize(
    ("expression", "position", "part"),
    [
        ("", 0, "five fields"),
        ("* * * *", 7, "not 4"),
        ("0 * * * * *", 10, "neither seconds nor years"),
        ("@daily", 0, 'write "0 0 * * *"'),
        ("60 * * * *", 0, "60 is not between 0 and 59"),
        ("5,70 * * * *", 2, "70 is not between 0 and 59"),
        ("1-99 * * * *", 2, "99 is not between 0 and 59"),
        ("*/0 * * * *", 2, "a step goes from 1 to 59"),
        ("* */24 * * *", 4, "a step goes from 1 to 23"),
        ("* * 0 * *", 4, "0 is not between 1 and 31"),
        ("* * * FOO *", 6, "'FOO' is no month; its names are JAN"),
        ("* * * * WEN", 8, "'WEN' is no day of week"),
        ("* * * * 8", 8, "8 is not between 1 and 7"),
        ("* * * * 2#6", 10, "from #1 to #5"),
        ("* * 1,L * *", 6, "stand alone in their field"),
        ("* * L-31 * *", 6, "from 1 to 30"),
        ("*,5 * * * *", 0, "* stands alone"),
        (" 0 5 * * *", 0, "no space stands before or after"),
        ("0 5 * * * ", 9, "no space stands before or after"),
        ("1, * * * *", 2, "something is missing here"),
        ("x * * * *", 0, "'x' cannot be read"),
    ],
)
def test_a_fault_points_at_its_place(expression: str, position: int, part: str) -> None:
    fault = refusal(expression)
    assert part in str(fault)
    assert fault.position == position


VALUES = st.sampled_from(["*", "*/7", "3", "1,5", "2-6"])


def matches(expression: Expression, moment: dt.datetime) -> bool:
    return (
        moment.minute in expression.minutes
        and moment.hour in expression.hours
        and moment.month in expression.months
        and moment.day in expression.days(moment.year, moment.month)
    )


@settings(max_examples=50, deadline=None)
@given(VALUES, VALUES, st.integers(0, 10**9))
def test_nothing_lies_between_a_time_and_the_next(minute: str, hour: str, now: int) -> None:
    expression = parse(f"{minute} {hour} * * *")
    found = expression.next_after(now)
    assert found is not None and found > now and found - now <= 86_400
    minutes = range(now // 60 * 60 + 60, int(found) + 60, 60)
    hits = [second for second in minutes if matches(expression, dt.datetime.fromtimestamp(second, dt.UTC))]
    assert hits == [found]


def field(low: int, high: int) -> st.SearchStrategy[str]:
    numbers = st.integers(low, high)
    ranges = st.tuples(st.integers(low, high - 1), st.integers(1, high)).map(
        lambda pair: f"{pair[0]}-{min(pair[0] + pair[1], high)}"
    )
    steps = st.integers(1, high - low).map(lambda step: f"*/{step}")
    return st.lists(numbers.map(str) | ranges, min_size=1, max_size=3).map(",".join) | steps | st.just("*")


@settings(max_examples=300)
@given(field(0, 59), field(0, 23), field(1, 28), field(1, 12), st.none() | st.integers(1, 7), st.integers(0, 10**9))
def test_plain_expressions_agree_with_croniter(
    minute: str, hour: str, day: str, month: str, weekday: int | None, seconds: int
) -> None:
    start = at("2024-01-01") + seconds % (4 * 365 * 86_400)
    day = "*" if weekday is not None else day  # both together: see the test of the union
    ours = parse(f"{minute} {hour} {day} {month} {weekday or '*'}").next_after(start)
    unix = f"{minute} {hour} {day} {month} {'*' if weekday is None else weekday - 1}"
    assert ours == croniter(unix, dt.datetime.fromtimestamp(start, dt.UTC)).get_next(float)
