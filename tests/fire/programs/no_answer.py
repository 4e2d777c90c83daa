import hookrun.__main__
import hookrun.agents.formats
import hookrun.session


def broken(*_: object) -> object:
    raise MemoryError("no more")


hookrun.session.count_stop_block = hookrun.session.mark_notice_shown = broken  # type: ignore[assignment]
hookrun.agents.formats.reply_from_verdict = broken  # type: ignore[assignment]
hookrun.__main__.main()
