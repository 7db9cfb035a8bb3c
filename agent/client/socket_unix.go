//go:build unix

package client

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/podstep/podstep/probes"
)

// maxSocketPath is how many bytes of a path fit into sockaddr_un, before the final NUL.
const maxSocketPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// checkSocket returns an error if no agent to which the user may speak can be at the socket.
func checkSocket(path string, by user) error {
	if len(path) > maxSocketPath {
		return newError(Usage, nil, text("the socket path is %d bytes long and this system takes %d: %s; use a shorter directory", "套接字路径长 %d 字节，本系统最多 %d：%s；请用更短的目录"), len(path), maxSocketPath, path)
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

func sort(mode fs.FileMode) probes.Text {
	switch mode.Type() {
	case 0:
		return text("file", "文件")
	case fs.ModeDir:
		return text("directory", "目录")
	}
	return text("special file", "特殊文件")
}
