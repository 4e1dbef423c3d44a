# For scripts that run a command with servers, which they remove at the end. They source this file.

# remove_at_exit calls a function when the script ends, also if a signal ends it.
remove_at_exit() {
	trap "$1" EXIT
	trap 'exit 130' INT
	trap 'exit 143' HUP TERM
}

# run_command runs a command as a process group, and passes signals on to it.
run_command() {
	set -m
	"$@" </dev/null &
	command=$!
	set +m
	trap 'pass_on INT 130' INT
	trap 'pass_on TERM 143' HUP TERM
	wait "$command"
}

# pass_on ends the command with a signal, and the script with a status.
pass_on() {
	kill "-$1" -- "-$command" 2>/dev/null || true
	wait "$command" || true
	kill -KILL -- "-$command" 2>/dev/null || true
	exit "$2"
}
