package node

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// envPart makes this test binary play an attached podstep.
const envPart = "PODSTEP_TEST_PART"

// attachedPart is an attached podstep, as far as signals go. It writes each line of its
// standard input to stdout and stderr, and then answers it on the file after stderr. It ends as
// podstep attach does.
func attachedPart() {
	end, _, stop := endings(context.Background())
	defer stop()
	stayAlive()
	answers := os.NewFile(3, "answers")
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			fmt.Println("a word")
			fmt.Fprintln(os.Stderr, "a word about it")
			fmt.Fprintf(answers, "%s, ended: %v\n", lines.Text(), end.Err() != nil)
		}
	}()
	<-end.Done()
	fmt.Println("a last word")
	fmt.Fprintln(answers, "ended in order")
}

// An attached podstep goes on when it gets a signal to stop. It ends in order when nobody reads
// its output. nohup keeps it from ending with its terminal.
func TestAttachedStaysAlive(t *testing.T) {
	if os.Getenv(envPart) != "" {
		attachedPart()
		return
	}
	for name, nohup := range map[string]bool{"usual": false, "nohup": true} {
		t.Run(name, func(t *testing.T) {
			if !nohup && signal.Ignored(syscall.SIGHUP) {
				t.Skip("the tests themselves run under nohup")
			}
			p := startAttachedPart(t, nohup)
			p.expectAnswer("nobody reads")
			for _, s := range []syscall.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU} {
				p.signal(s)
				p.expectAnswer(s.String())
			}
			last := syscall.SIGHUP
			if nohup {
				p.signal(syscall.SIGHUP)
				p.expectAnswer("hangup")
				last = syscall.SIGTERM
			}
			p.signal(last)
			p.expect("ended in order")
			if err := p.cmd.Wait(); err != nil {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

// part is a process that runs attachedPart.
type part struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      *os.File
	answers *bufio.Reader
}

// startAttachedPart starts a part. Nobody reads the output of the part.
func startAttachedPart(t *testing.T, nohup bool) *part {
	t.Helper()
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = r.Close(), w.Close() })
		return r, w
	}
	stdin, in := pipe()
	words, out := pipe()
	answers, answer := pipe()
	trap := ""
	if nohup {
		trap = "trap '' HUP; "
	}
	// The part has a process group of its own that is not orphaned: an orphaned one would not be stopped.
	cmd := exec.Command("sh", "-c", trap+`exec "$0" -test.run='^TestAttachedStaysAlive$'`, os.Args[0])
	cmd.Env = append(os.Environ(), envPart+"=attached")
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = stdin, out, out, []*os.File{answer}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	for _, f := range []*os.File{stdin, words, out, answer} {
		_ = f.Close()
	}
	return &part{t, cmd, in, bufio.NewReader(answers)}
}

func (p *part) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// expectAnswer sends a line to the part, and expects an answer that says that the end has not come.
func (p *part) expectAnswer(line string) {
	p.t.Helper()
	fmt.Fprintln(p.in, line)
	p.expect(line + ", ended: false")
}

func (p *part) expect(want string) {
	p.t.Helper()
	line, err := p.answers.ReadString('\n')
	if got := strings.TrimSpace(line); err != nil || got != want {
		p.t.Fatalf("heard %q (%v), want %q", got, err, want)
	}
}
