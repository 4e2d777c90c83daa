import hookrun.__main__
import hookrun.fire.invocation


def broken(*_: object) -> object:
    raise MemoryError("no more")


hookrun.fire.invocation.EventFire.decisions = broken  # type: ignore[method-assign, assignment]
hookrun.__main__.main()
