package client

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	osuser "os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/podstep/podstep/probes"
)

// SocketEnv names the environment variable that overrides the default socket.
const SocketEnv = "PODSTEP_SOCKET"

// rootSocket is where an agent of root listens.
const rootSocket = "/run/podstep/agent.sock"

// maxSocketPath is what fits into sockaddr_un on Linux, with its final NUL.
const maxSocketPath = 107

// DefaultSocket is where the agent of this user is looked for: PODSTEP_SOCKET,
// or /run/podstep for root, or the user's runtime directory.
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

func checkSocket(path string, by user) error {
	if len(path) > maxSocketPath {
		return newError(Usage, nil, text("the socket path is %d bytes long and Linux takes %d: %s; use a shorter directory", "套接字路径长 %d 字节，Linux 最多 %d：%s；请用更短的目录"), len(path), maxSocketPath, path)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return notThere(path, err)
	case errors.Is(err, fs.ErrPermission):
		return denied(path, err)
	case err != nil:
		return newError(NoAgent, err, text("look at the agent's socket %s: %s; see podstep doctor", "查看代理的套接字 %s：%s；见 podstep doctor"), path, bare(err))
	case info.Mode().Type() != fs.ModeSocket:
		return newError(NoAgent, nil, text("%s is not a socket but a %s; name the agent's socket with --socket or %s", "%s 不是套接字而是%s；请用 --socket 或 %s 指定代理的套接字"), path, sort(info.Mode()), SocketEnv)
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	if !by.trusts(owner) {
		return newError(Denied, nil, text("the socket %s belongs to %s, not to you or root; it is not used, because whoever owns it would see and answer what you ask", "套接字 %s 属于 %s，不是你或 root；不使用它，因为它的主人会看到并回答你的请求"), path, userName(owner))
	}
	return nil
}

func notThere(path string, cause error) error {
	return newError(NoAgent, cause, text("no agent at %s: is podstep-kubelet running? If it listens elsewhere, name its socket with --socket or %s; see podstep doctor", "%s 没有代理：podstep-kubelet 在运行吗？如果它监听别处，请用 --socket 或 %s 指定；见 podstep doctor"), path, SocketEnv)
}

func denied(path string, cause error) error {
	return newError(Denied, cause, text("permission denied at the agent's socket %s: it takes the user who runs the kubelet, most often root; try sudo", "没有权限访问代理的套接字 %s：需要运行 kubelet 的用户，通常是 root；请试 sudo"), path)
}

func sort(mode fs.FileMode) probes.Text {
	switch mode.Type() {
	case 0:
		return text("file", "文件")
	case fs.ModeDir:
		return text("directory", "目录")
	}
	return text("special file", "特殊文件")
}

func userName(uid int) string {
	if u, err := osuser.LookupId(strconv.Itoa(uid)); err == nil {
		return fmt.Sprintf("user %s (uid %d)", u.Username, uid)
	}
	return fmt.Sprintf("uid %d", uid)
}

// bare is the innermost error: "connection reset", without the path again.
func bare(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
