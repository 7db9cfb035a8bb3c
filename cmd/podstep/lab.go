package main

import (
	"bufio"
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

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/podstep/podstep/probes/words"
)

// labFlags are those of podstep-lab, which they are handed to.
type labFlags struct {
	dir        string
	runtime    choice
	kubelet    string
	containerd string
	scenario   string
	port       int
	restart    bool
}

func (a *app) lab() *cobra.Command {
	var ui uiFlags
	var flags labFlags
	cmd := &cobra.Command{
		Use:   "lab [--dir DIR] [--runtime sim|containerd] [flags]",
		Short: "Start a node of your own, and open the screen on it",
		Long: `Starts podstep-lab, a whole node in one directory, and opens the screen when it
is ready. The node ends with the screen.

The simulated runtime needs no root and no container runtime: the kubelet is
real, its containers are simulated. With --runtime containerd, as root, the
containers are real too.`,
		Example: `  podstep lab
  podstep lab --tour creation --lang zh
  sudo podstep lab --runtime containerd`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := ui.options()
			if err != nil {
				return err
			}
			args, dir, err := flags.arguments(cmd.Flags())
			if err != nil {
				return err
			}
			l, err := a.startLab(cmd.Context(), args)
			if err != nil {
				return err
			}
			a.socket, o.Lab = filepath.Join(dir, "agent.sock"), true
			o.LabEnded = l.exited
			return errors.Join(a.live(cmd.Context(), &ui, o), l.end())
		},
	}
	flags.runtime = choice{value: "sim", of: []string{"sim", "containerd"}}
	cmd.Flags().StringVar(&flags.dir, "dir", "", "`DIR` for everything that the node makes (default: podstep/lab in the user's cache directory)")
	flags.runtime.add(cmd, "runtime", "", "what runs containers")
	cmd.Flags().StringVar(&flags.kubelet, "kubelet", "", "`PATH` of the kubelet to run, with --runtime containerd")
	cmd.Flags().StringVar(&flags.containerd, "containerd", "", "`PATH` of the containerd to run, with --runtime containerd (default: the machine's)")
	cmd.Flags().StringVar(&flags.scenario, "scenario", "", "scenario `FILE` for the simulated runtime")
	cmd.Flags().IntVar(&flags.port, "port", 0, "port of the API server on 127.0.0.1 (default: a free one)")
	cmd.Flags().BoolVar(&flags.restart, "restart-kubelet", false, "start the kubelet again when it ends")
	ui.addLive(cmd)
	return cmd
}

// handedOn are the flags that podstep-lab has too.
var handedOn = []string{"runtime", "kubelet", "containerd", "scenario", "port", "restart-kubelet"}

// arguments are those for podstep-lab: the directory, and what was given.
func (f *labFlags) arguments(set *pflag.FlagSet) (args []string, dir string, err error) {
	dir = f.dir
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, "", usagef("--dir is missing, and there is no cache directory to choose one in (%s); write --dir DIR", err)
		}
		dir = filepath.Join(cache, "podstep", "lab")
		if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
			return nil, "", fmt.Errorf("make the lab's directory: %w", err)
		}
	}
	args = []string{"--dir", dir}
	for _, name := range handedOn {
		if given := set.Lookup(name); given.Changed {
			args = append(args, "--"+name+"="+given.Value.String())
		}
	}
	return args, dir, nil
}

// labProcess is podstep-lab, running.
type labProcess struct {
	cmd    *exec.Cmd
	exited chan struct{}
	err    error

	// to is where its words go, until it is ready; then the screen is there, and
	// the last words are kept for the end.
	to    io.Writer
	mu    sync.Mutex
	quiet bool
	last  []string
}

// keptLines is how many of the last lines are printed if the lab dies.
const keptLines = 12

// startLab starts podstep-lab, and returns when it is ready.
func (a *app) startLab(ctx context.Context, args []string) (*labProcess, error) {
	path, err := findProgram("podstep-lab")
	if err != nil {
		return nil, err
	}
	l := &labProcess{exited: make(chan struct{}), to: a.err}
	l.cmd = exec.Command(path, args...)
	// However we end, the node ends too, in order.
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

// run starts the process and reads what it says, until it has ended. The kernel
// takes the thread that started a child for its parent, so this one stays.
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

// end ends the lab and waits for it. It is an error if it had ended by itself.
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

// findProgram finds a program in our own directory, or else in PATH.
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
		return "", fmt.Errorf("there is no %s beside podstep or in PATH; make build builds both", name)
	}
	return path, nil
}
