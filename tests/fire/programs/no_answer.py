import hookrun.__main__
import hookrun.agents.formats
import hookrun.core.session


def broken(*_: object) -> object:
    raise MemoryError("no more")


hookrun.core.session.count_stop_block = hookrun.core.session.mark_notice_shown = broken  # type: ignore[assignment]
hookrun.agents.formats.reply_from_verdict = broken  # type: ignore[assignment]
hookrun.__main__.main()
