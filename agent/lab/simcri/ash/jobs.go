package ash

import (
	"fmt"
	"strconv"
	"strings"
)

// isTrap takes: trap TEXT SIGNAL..., for TERM and EXIT; other signals never come.
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

func setTrap(sh *shell, c *simple, args []string) int {
	t := sh.traps
	t.Lock()
	defer t.Unlock()
	for _, s := range args[1:] {
		switch strings.TrimPrefix(s, "SIG") {
		case "TERM", "15":
			t.onTerm = c.body
		case "EXIT", "0":
			t.onExit = c.body
		}
	}
	return 0
}

// wait waits for what runs in the background; a signal with a trap ends it early.
func wait(sh *shell, _ []string) int {
	sh.traps.Lock()
	signalled := sh.traps.signalled
	sh.traps.Unlock()
	idle := make(chan struct{})
	go func() {
		sh.jobs.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return 0
	case <-sh.ctx.Done():
		return Killed
	case <-signalled:
		return 143
	}
}

// isHTTPD takes httpd as a foreground server on a port: -f [-v] -p PORT [-h DIR].
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

func httpd(sh *shell, args []string) int {
	port, dir, _ := httpdArgs(args)
	if err := sh.env.Serve(sh.ctx, port, sh.abs(dir)); err != nil && sh.ctx.Err() == nil {
		return sh.fail("httpd", fmt.Errorf("bind: %w", err))
	}
	return Killed
}
