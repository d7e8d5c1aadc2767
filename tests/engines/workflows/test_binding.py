"""env.WORKFLOW: creating, finding and deleting instances."""

import pytest

from pyflare.testing import Harness
from tests.engines.workflows.lab import CONFIG, Refused, call, log, start, state, status

pytestmark = pytest.mark.pyflare(CONFIG)


async def test_params_reach_run_and_its_result_the_status(worker: Harness) -> None:
    await start(worker, "echo", n=1, nested={"a": [None, 1.5]})
    assert await state(worker) == ("complete", {"flow": "echo", "n": 1, "nested": {"a": [None, 1.5]}})


async def test_without_an_id_it_is_a_uuid(worker: Harness) -> None:
    made = await call(worker, "create", {"params": {"flow": "echo"}})
    assert len(made) == 36


async def test_without_params_the_payload_is_empty(worker: Harness) -> None:
    await call(worker, "create", {"id": "i"})
    await worker.settle()
    assert await state(worker) == ("complete", {})


@pytest.mark.cloudflare("developers.cloudflare.com/workflows/build/workers-api")
async def test_an_id_that_exists_is_refused_and_runs_once(worker: Harness) -> None:
    await start(worker, "two_steps_around_a_nap")
    with pytest.raises(Refused, match=r"\(instance\.already_exists\).* already exists"):
        await start(worker, "two_steps_around_a_nap")
    assert await log(worker) == ["outside", "one"]


@pytest.mark.parametrize("id", ["with space", "-dash", "a" * 101, "ö", ""])
async def test_bad_ids_are_refused(worker: Harness, id: str) -> None:
    with pytest.raises(Refused, match="Workflow instance has invalid id"):
        await call(worker, "create", {"id": id})


async def test_an_id_of_a_hundred_letters_is_good(worker: Harness) -> None:
    assert await call(worker, "create", {"id": "a" * 100}) == "a" * 100


async def test_a_batch_leaves_out_what_exists(worker: Harness) -> None:
    await start(worker, "echo", "a")
    made = await call(worker, "create_batch", [{"id": id, "params": {"flow": "echo"}} for id in ("a", "b", "c")])
    assert made == ["b", "c"]


async def test_an_empty_batch_is_refused(worker: Harness) -> None:
    with pytest.raises(Refused, match="at least 1 instance"):
        await call(worker, "create_batch", [])


async def test_more_than_a_hundred_in_a_batch_are_refused(worker: Harness) -> None:
    with pytest.raises(Refused, match="100"):
        await call(worker, "create_batch", [{} for _ in range(101)])


@pytest.mark.parametrize("batch", [{"instances": []}, {"instances": [{}] * 101}, {"count": 101}])
async def test_the_object_form_of_a_batch_has_the_same_bounds(worker: Harness, batch: object) -> None:
    with pytest.raises(Refused, match="batchCreate"):
        await call(worker, "createBatch", batch)


async def test_a_bad_id_in_the_object_form_of_a_batch_has_a_code(worker: Harness) -> None:
    made = await call(worker, "createBatch", {"instances": [{"id": "-bad"}]})
    assert [(one["id"], one["code"]) for one in made["errors"]] == [("-bad", "instance.invalid_id")]


async def test_the_object_form_of_a_batch_tells_what_went_wrong(worker: Harness) -> None:
    await start(worker, "echo", "a")
    made = await call(worker, "createBatch", {"instances": [{"id": "a"}, {"id": "b"}]})
    assert made["created"] == ["b"]
    [fault] = made["errors"]
    assert (fault["index"], fault["id"], fault["code"]) == (0, "a", "instance.already_exists")


async def test_the_object_form_can_count(worker: Harness) -> None:
    made = await call(worker, "createBatch", {"count": 3, "params": {"flow": "echo"}})
    assert (len(made["created"]), made["errors"]) == (3, [])


async def test_an_unknown_id_is_not_found(worker: Harness) -> None:
    with pytest.raises(Refused, match=r"instance\.not_found"):
        await call(worker, "get", "nobody")


async def test_delete_forgets_a_running_instance(worker: Harness) -> None:
    await start(worker, "waits")
    await call(worker, "delete", id="i")
    with pytest.raises(Refused, match=r"instance\.not_found"):
        await status(worker)
    assert await start(worker, "echo") == "i"


async def test_a_batch_of_deletions_tells_what_was_not_there(worker: Harness) -> None:
    await start(worker, "echo", "a")
    assert await call(worker, "deleteBatch", ["a", "b", "b"]) == {
        "deleted": [{"id": "a"}],
        "errors": [{"id": "b", "code": 10400, "message": "workflows.api.error.instance.not_found"}] * 2,
    }


@pytest.mark.parametrize(
    ("ids", "text"),
    [([], "at least 1 instance"), (["a"] * 101, "only supports 100"), ([1], "invalid"), ("a", "invalid")],
)
async def test_bad_batches_of_deletions_are_refused(worker: Harness, ids: object, text: str) -> None:
    with pytest.raises(Refused, match=rf"\(body\).*{text}"):
        await call(worker, "deleteBatch", ids)


async def test_retention_deletes_a_finished_instance(worker: Harness) -> None:
    retention = {"successRetention": "2 days", "errorRetention": "1 hour"}
    await call(worker, "create", {"id": "i", "params": {"flow": "echo"}, "retention": retention})
    await worker.advance(2 * 86_400 - 1)
    assert (await status(worker))["status"] == "complete"
    await worker.advance(1)
    with pytest.raises(Refused, match=r"instance\.not_found"):
        await status(worker)


async def test_params_of_more_than_a_mebibyte_are_refused(worker: Harness) -> None:
    with pytest.raises(Refused, match="too large"):
        await call(worker, "create", {"params": {"text": "x" * 1_100_000}})


async def test_an_instance_can_start_another_and_hear_from_it(worker: Harness) -> None:
    await start(worker, "parent")
    assert await state(worker) == ("complete", 42)
