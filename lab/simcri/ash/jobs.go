package ash

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// isTrap accepts: trap TEXT SIGNAL..., for TERM and EXIT. Other signals never come.
func isTrap(args []string) bool {
	if len(args) < 2 {
		return false
	}
	for _, s := range args[1:] {
		switch strings.TrimPrefix(s, "SIG") {
		case "TERM", "15", "EXIT", "0", "INT", "2", "HUP", "1", "QUIT", "3":
		default:
			return false
		}
	}
	return true
}

// The functions that traps are made into, for the signals that come.
const (
	onTerm = "on-TERM"
	onExit = "on-EXIT"
)

// onSignal returns the name of the function that a signal's trap is made into.
func onSignal(name string) string {
	switch name = strings.TrimPrefix(name, "SIG"); name {
	case "15":
		name = "TERM"
	case "0":
		name = "EXIT"
	}
	return "on-" + name
}

// traps has the signals that have a trap, and whether SIGTERM came.
type traps struct {
	sync.Mutex
	set       map[string]bool // by the functions' names
	signalled chan struct{}   // closed by SIGTERM when there is a trap
	pending   bool
}

func (t *traps) has(function string) bool {
	t.Lock()
	defer t.Unlock()
	return t.set[function]
}

// signal delivers SIGTERM and reports whether there is a trap for it.
func (t *traps) signal() bool {
	t.Lock()
	defer t.Unlock()
	if t.set[onTerm] && !t.pending {
		t.pending = true
		close(t.signalled)
	}
	return t.set[onTerm]
}

// takeSignal reports whether the trap for SIGTERM is to run now, and notes that it runs.
func (t *traps) takeSignal() bool {
	t.Lock()
	defer t.Unlock()
	if !t.pending {
		return false
	}
	t.pending, t.signalled = false, make(chan struct{})
	return t.set[onTerm]
}

func setTrap(c *command, args []string) int {
	t := &c.traps
	t.Lock()
	defer t.Unlock()
	for _, s := range args[1:] {
		t.set[onSignal(s)] = args[0] != "-"
	}
	return 0
}

// wait waits for the programs in the background. A signal that has a trap ends it early.
func wait(c *command, _ []string) int {
	c.traps.Lock()
	signalled := c.traps.signalled
	c.traps.Unlock()
	idle := make(chan struct{})
	go func() {
		c.jobs.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return 0
	case <-c.ctx.Done():
		return Killed
	case <-signalled:
		return 143
	}
}

// isHTTPD accepts httpd as a foreground server on a port: -f [-v] -p PORT [-h DIR].
func isHTTPD(args []string) bool {
	port, _, foreground := httpdArgs(args)
	return port > 0 && foreground
}

func httpdArgs(args []string) (port int, dir string, foreground bool) {
	dir = "."
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-f":
			foreground = true
		case "-v":
		case "-p", "-h":
			if i+1 == len(args) {
				return 0, "", false
			}
			i++
			if args[i-1] == "-h" {
				dir = args[i]
				continue
			}
			n, err := strconv.ParseUint(args[i], 10, 16)
			if err != nil {
				return 0, "", false
			}
			port = int(n)
		default:
			return 0, "", false
		}
	}
	return port, dir, foreground
}

func httpd(c *command, args []string) int {
	port, dir, _ := httpdArgs(args)
	if err := c.env.Serve(c.ctx, port, c.abs(dir)); err != nil && c.ctx.Err() == nil {
		return c.fail("httpd", fmt.Errorf("bind: %w", err))
	}
	return Killed
}
