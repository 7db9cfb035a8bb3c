package node

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"github.com/podstep/podstep/probes/words"
)

// labProcess is podstep-lab, running.
type labProcess struct {
	cmd    *exec.Cmd
	exited chan struct{}
	err    error

	// to gets its messages until it is ready. Then the screen is there, and the last messages
	// are kept for the end.
	to    io.Writer
	mu    sync.Mutex
	quiet bool
	last  []string
}

// keptLines is how many of the last lines are printed if the lab dies.
const keptLines = 12

// RunLab starts podstep-lab with these arguments and calls while when the lab is ready. It ends
// the lab when while returns. while gets a channel that is closed when the lab has ended.
// Until the lab is ready, its messages go to stderr.
func RunLab(ctx context.Context, args []string, stderr io.Writer, while func(ended <-chan struct{}) error) error {
	l, err := startLab(ctx, args, stderr)
	if err != nil {
		return err
	}
	return errors.Join(while(l.exited), l.end())
}

// startLab starts podstep-lab, and returns when it is ready.
func startLab(ctx context.Context, args []string, to io.Writer) (*labProcess, error) {
	path, err := findProgram("podstep-lab")
	if err != nil {
		return nil, err
	}
	l := &labProcess{exited: make(chan struct{}), to: to}
	l.cmd = exec.Command(path, args...)
	// However podstep ends, the node ends, too, in order.
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	stdout, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start podstep-lab: %w", err)
	}
	stderr, err := l.cmd.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("start podstep-lab: %w", err)
	}
	started := make(chan error, 1)
	ready := make(chan struct{})
	go l.run(stdout, stderr, started, ready)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start podstep-lab: %w", err)
	}
	select {
	case <-ready:
		l.mu.Lock()
		l.quiet = true
		l.mu.Unlock()
		return l, nil
	case <-l.exited:
		return nil, errors.New("the lab did not start; podstep-lab printed the reason above")
	case <-ctx.Done():
		return nil, errors.Join(errors.New("interrupted before the lab was ready"), l.end())
	}
}

// run starts the process and reads its output until it has ended. The kernel takes the thread
// that started a child for its parent, so this goroutine stays on its thread.
func (l *labProcess) run(stdout, stderr io.Reader, started chan<- error, ready chan<- struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(l.exited)
	if err := l.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	var readers sync.WaitGroup
	readers.Go(func() {
		isReady := false
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if !isReady && strings.HasPrefix(lines.Text(), "ready") {
				isReady = true
				close(ready)
			}
		}
	})
	readers.Go(func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			l.print(lines.Text())
		}
	})
	readers.Wait()
	l.err = l.cmd.Wait()
}

func (l *labProcess) print(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.quiet {
		fmt.Fprintln(l.to, words.Clean(line))
		return
	}
	l.last = append(l.last, words.Clean(line))
	if len(l.last) > keptLines {
		l.last = l.last[1:]
	}
}

// printLast prints the last words of a lab that has ended.
func (l *labProcess) printLast() {
	for _, line := range l.last {
		fmt.Fprintln(l.to, line)
	}
}

// end ends the lab and waits for it. It returns an error if the lab had ended by itself.
func (l *labProcess) end() error {
	select {
	case <-l.exited:
		l.printLast()
		return errors.New("the lab has ended by itself; the last lines of podstep-lab are above")
	default:
	}
	if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end podstep-lab: %w", err)
	}
	<-l.exited
	if l.err != nil {
		l.printLast()
		return fmt.Errorf("podstep-lab failed (%w); its last lines are above", l.err)
	}
	return nil
}

// Kubectl runs kubectl against the lab in a directory, and returns what it prints.
func Kubectl(ctx context.Context, dir string, args ...string) (string, error) {
	path, err := findProgram("podstep-lab")
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, path, append([]string{"kubectl", "--dir", dir}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", args[0], err, bytes.TrimSpace(out))
	}
	return string(out), nil
}

// findProgram finds a program in the directory of podstep's own, or else in PATH.
func findProgram(name string) (string, error) {
	self, err := os.Executable()
	if err == nil {
		path := filepath.Join(filepath.Dir(self), name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("there is no %[1]s beside podstep or in PATH: it is a program of its own, built of Kubernetes' source; in a clone of https://github.com/podstep/podstep, make build makes both in bin, and make run starts them", name)
	}
	return path, nil
}
