# Runs `hookrun ARGUMENTS` with the machine's configuration in the directory of the variable MANAGED.

import os

import hookrun.__main__
from hookrun.config import discovery

discovery.MANAGED_DIRECTORY = os.environ["MANAGED"]
hookrun.__main__.main()
