package far

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/probes/words"
)

// stdioCommand is what runs on a node, and stdioBySSH what a user's own ssh runs there: with the rights of that user.
var (
	stdioCommand = []string{"podstep", "agent-stdio"}
	stdioBySSH   = append(slices.Clone(stdioCommand), "--own-rights")
)

// sshPlace is an agent on a machine that the user reaches by ssh.
type sshPlace struct {
	host string
	// asked says that the user has been asked for what ssh wants to know. A screen may have the terminal after that.
	asked atomic.Bool
}

// BySSH returns the place of the agent on a host, as the user's ssh knows it: [USER@]HOST, or a name of its
// configuration. podstep must be in the PATH there. Only the first connection lets ssh ask for a password.
func BySSH(host string) (client.Place, error) {
	if host == "" || strings.HasPrefix(host, "-") {
		return nil, client.Fail(client.Usage, nil, words.Text("%q is no host for ssh", "%q 不是 ssh 的主机"), host)
	}
	return &sshPlace{host: host}, nil
}

func (p *sshPlace) String() string { return p.host + " (by ssh)" }

// Connect starts ssh.
func (p *sshPlace) Connect(ctx context.Context) (net.Conn, error) {
	conn, err := open(ctx, p.String(), p.run)
	if err == nil {
		p.asked.Store(true)
	}
	return conn, err
}

func (p *sshPlace) run(ctx context.Context, s streams) error {
	// Errors without a banner and without news of known hosts: what ssh prints becomes part of a sentence.
	args := []string{"-T", "-o", "LogLevel=ERROR"}
	if p.asked.Load() {
		args = append(args, "-o", "BatchMode=yes")
	}
	cmd := exec.CommandContext(ctx, "ssh", append(append(args, "--", p.host), stdioBySSH...)...)
	cmd.Stdout, cmd.Stderr = s.out, s.errors
	cmd.WaitDelay = time.Second // what ssh has started may keep its streams open
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run ssh: %w", err)
	}
	go func() {
		_, _ = io.Copy(in, s.in)
		_ = in.Close()
	}()
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return nil
	case errors.As(err, &exit) && exit.ExitCode() == notFound:
		return errNoProgram
	}
	return fmt.Errorf("ssh ended: %w", err)
}

// notFound is the exit code of a shell that does not find a program.
const notFound = 127
