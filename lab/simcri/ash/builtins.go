package ash

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// builtin is a command that is known.
type builtin struct {
	options   string // the letters that may stand behind a dash
	literal   bool   // nothing in its words may have to be expanded
	shellOnly bool   // part of the shell, no program of its own
	check     func(args []string) bool
	rewrite   func(r *reading, c *syntax.CallExpr, args []string) syntax.Command
	do        func(c *command, args []string) int // nil if the interpreter runs it
}

// With anyWord as options, words with dashes are ordinary words.
const anyWord = "*"

var builtins map[string]*builtin

func init() { // their functions use the table
	builtins = map[string]*builtin{
		":":        {options: anyWord, shellOnly: true},
		"true":     {options: anyWord},
		"false":    {options: anyWord},
		"echo":     {options: anyWord, do: echo},
		"exit":     {shellOnly: true, check: atMost(1)},
		"sleep":    {literal: true, check: isSleep, do: sleep},
		"test":     {options: anyWord, check: isTest},
		"[":        {options: anyWord, check: isBracket},
		"cat":      {do: cat},
		"touch":    {check: some, do: touch},
		"rm":       {options: "rf", check: some, do: remove},
		"mkdir":    {options: "p", check: some, do: mkdir},
		"cp":       {options: "f", check: atLeast(2), do: cp},
		"ls":       {options: "1A", check: atMost(2), do: ls},
		"seq":      {literal: true, check: isSeq, do: seq},
		"date":     {literal: true, check: isDate, do: date},
		"hostname": {check: atMost(0), do: hostname},
		"id":       {options: "ugGn", literal: true, check: isID, do: id},
		"pwd":      {check: atMost(0)},
		"cd":       {shellOnly: true, check: atMost(1)},
		"env":      {check: atMost(0), do: variables},
		"printenv": {check: atMost(1), do: variables},
		"export":   {shellOnly: true, rewrite: exported},
		"trap":     {options: anyWord, literal: true, shellOnly: true, check: isTrap, rewrite: trapped, do: setTrap},
		"wait":     {shellOnly: true, check: atMost(0), rewrite: inShell, do: wait},
		"tail":     {options: "fF", literal: true, check: isTail, do: forever},
		"httpd":    {options: "fvph", literal: true, check: isHTTPD, do: httpd},
		"pause":    {check: atMost(0), do: forever},
	}
}

func atMost(n int) func([]string) bool  { return func(a []string) bool { return len(a) <= n } }
func atLeast(n int) func([]string) bool { return func(a []string) bool { return len(a) >= n } }
func some(args []string) bool           { return len(args) > 0 }

// fail prints what went wrong and gives the exit code 1.
func (c *command) fail(command string, err error) int {
	fmt.Fprintf(c.Stderr, "%s: %v\n", command, err)
	return 1
}

// reason returns the text that a real command would print about an error.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "No such file or directory"
	case errors.Is(err, syscall.EROFS):
		return "Read-only file system"
	case errors.Is(err, fs.ErrPermission):
		return "Permission denied"
	}
	return err.Error()
}

// about returns the error about a file, with its reason.
func about(name string, err error) error { return fmt.Errorf("%s: %s", name, reason(err)) }

// operands returns the arguments that are not options.
func operands(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })
}

func echo(c *command, args []string) int {
	end, escapes := "\n", false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		if strings.Contains(args[0], "n") {
			end = ""
		}
		escapes = escapes || strings.Contains(args[0], "e")
		args = args[1:]
	}
	text := strings.Join(args, " ") + end
	if escapes {
		text = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`).Replace(text)
	}
	if _, err := io.WriteString(c.Stdout, text); err != nil {
		return 1
	}
	return 0
}

func isSleep(args []string) bool {
	for _, a := range args {
		if _, ok := pause(a); !ok {
			return false
		}
	}
	return len(args) > 0
}

// endless is longer than any program here lives.
const endless = 100 * 365 * 24 * time.Hour

// pause reads an argument of sleep.
func pause(arg string) (time.Duration, bool) {
	if arg == "infinity" || arg == "inf" {
		return endless, true
	}
	unit := time.Second
	if n := len(arg); n > 0 {
		if u, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[arg[n-1]]; ok {
			unit, arg = u, arg[:n-1]
		}
	}
	f, err := strconv.ParseFloat(arg, 64)
	if err != nil || !(f >= 0) { // NaN too
		return 0, false
	}
	return time.Duration(min(f*float64(unit), float64(endless))), true
}

func sleep(c *command, args []string) int {
	var all time.Duration
	for _, a := range args {
		d, _ := pause(a)
		all = min(all+d, endless)
	}
	c.sleep(all)
	return 0
}

func forever(c *command, _ []string) int {
	<-c.ctx.Done()
	return Killed
}

func isTail(args []string) bool {
	return len(args) == 2 && strings.HasPrefix(args[0], "-") && args[1] == "/dev/null"
}

func isSeq(args []string) bool {
	for _, a := range args {
		if n, err := strconv.Atoi(a); err != nil || n < 0 || n > 100_000 {
			return false
		}
	}
	return len(args) == 1 || len(args) == 2
}

func seq(c *command, args []string) int {
	first, last := 1, 0
	if len(args) == 2 {
		first, _ = strconv.Atoi(args[0])
	}
	last, _ = strconv.Atoi(args[len(args)-1])
	for i := first; i <= last && c.ctx.Err() == nil; i++ {
		fmt.Fprintln(c.Stdout, i)
	}
	return 0
}

func isDate(args []string) bool {
	return len(args) == 0 || len(args) == 1 && args[0] == "+%s"
}

func date(c *command, args []string) int {
	if now := time.Now().UTC(); len(args) > 0 {
		fmt.Fprintln(c.Stdout, now.Unix())
	} else {
		fmt.Fprintln(c.Stdout, now.Format(time.UnixDate))
	}
	return 0
}

func hostname(c *command, _ []string) int {
	fmt.Fprintln(c.Stdout, c.env.Hostname)
	return 0
}

// variables prints the variables that programs see, or one of them.
func variables(c *command, args []string) int {
	all := map[string]string{}
	c.Env.Each(func(name string, v expand.Variable) bool {
		if v.Exported && v.IsSet() {
			all[name] = v.String()
		}
		return true
	})
	if len(args) == 1 {
		v, ok := all[args[0]]
		if !ok {
			return 1
		}
		fmt.Fprintln(c.Stdout, v)
		return 0
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(c.Stdout, "%s=%s\n", name, all[name])
	}
	return 0
}
