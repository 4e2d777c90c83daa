import time


def beyond(*_: object) -> float:
    raise OverflowError("timestamp too large to convert to C _PyTime_t")  # as after 11 April 2262


time.time = time.time_ns = beyond  # type: ignore[assignment]
