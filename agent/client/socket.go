package client

import (
	"errors"
	"fmt"
	"os"
	osuser "os/user"
	"path/filepath"
	"strconv"
)

// SocketEnv names the environment variable that overrides the default socket.
const SocketEnv = "PODSTEP_SOCKET"

// rootSocket is the path at which an agent of root listens.
const rootSocket = "/run/podstep/agent.sock"

// DefaultSocket returns the path at which this user's agent is looked for: PODSTEP_SOCKET, or /run/podstep for root, or
// the user's runtime directory.
func DefaultSocket() string { return defaultSocket(os.Getenv, os.Getuid()) }

func defaultSocket(getenv func(string) string, uid int) string {
	if path := getenv(SocketEnv); path != "" {
		return path
	}
	// Without a runtime directory there is no place that only this user can
	// write to, so root's socket is named in the error that follows.
	dir := getenv("XDG_RUNTIME_DIR")
	if uid == 0 || dir == "" {
		return rootSocket
	}
	return filepath.Join(dir, "podstep", "agent.sock")
}

func notThere(path string, cause error) error {
	return newError(NoAgent, cause, text("no agent at %s: is podstep-kubelet running? If it listens elsewhere, name its socket with --socket or %s; see podstep doctor", "%s 没有代理：podstep-kubelet 在运行吗？如果它监听别处，请用 --socket 或 %s 指定；见 podstep doctor"), path, SocketEnv)
}

func denied(path string, cause error) error {
	return newError(Denied, cause, text("permission denied at the agent's socket %s: it takes the user who runs the kubelet, most often root; try sudo", "没有权限访问代理的套接字 %s：需要运行 kubelet 的用户，通常是 root；请试 sudo"), path)
}

func userName(uid int) string {
	if u, err := osuser.LookupId(strconv.Itoa(uid)); err == nil {
		return fmt.Sprintf("user %s (uid %d)", u.Username, uid)
	}
	return fmt.Sprintf("uid %d", uid)
}

// bare returns the innermost error: "connection reset", without the path again.
func bare(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
