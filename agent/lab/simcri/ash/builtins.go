package ash

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// builtin is a command that is known.
type builtin struct {
	options   string // the letters that may stand behind a dash
	literal   bool   // its words must hold nothing to expand
	shellOnly bool   // part of the shell, no program of its own
	check     func(args []string) bool
	do        func(sh *shell, args []string) int
	node      func(sh *shell, c *simple, args []string) int // for those that need the parsed command
}

func (b *builtin) run(sh *shell, c *simple, args []string) int {
	if b.node != nil {
		return b.node(sh, c, args)
	}
	return b.do(sh, args)
}

// anyWord as options: dashes mean nothing special.
const anyWord = "*"

var builtins map[string]*builtin

func init() { // their functions use the table
	builtins = map[string]*builtin{
		":":        {options: anyWord, shellOnly: true, do: func(*shell, []string) int { return 0 }},
		"true":     {options: anyWord, do: func(*shell, []string) int { return 0 }},
		"false":    {options: anyWord, do: func(*shell, []string) int { return 1 }},
		"echo":     {options: anyWord, do: echo},
		"exit":     {shellOnly: true, check: atMost(1), do: exit},
		"sleep":    {literal: true, check: isSleep, do: sleep},
		"test":     {options: anyWord, check: isTest, do: test},
		"[":        {options: anyWord, check: isBracket, do: test},
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
		"pwd":      {check: atMost(0), do: pwd},
		"cd":       {shellOnly: true, check: atMost(1), do: cd},
		"env":      {check: atMost(0), do: environ},
		"printenv": {check: atMost(1), do: environ},
		"export":   {shellOnly: true, do: export},
		"trap":     {options: anyWord, literal: true, shellOnly: true, check: isTrap, node: setTrap},
		"wait":     {shellOnly: true, check: atMost(0), do: wait},
		"tail":     {options: "fF", literal: true, check: isTail, do: forever},
		"httpd":    {options: "fvph", literal: true, check: isHTTPD, do: httpd},
		"pause":    {check: atMost(0), do: forever},
	}
}

func atMost(n int) func([]string) bool  { return func(a []string) bool { return len(a) <= n } }
func atLeast(n int) func([]string) bool { return func(a []string) bool { return len(a) >= n } }
func some(args []string) bool           { return len(args) > 0 }

// fail prints what went wrong and gives the exit code 1.
func (sh *shell) fail(command string, err error) int {
	fmt.Fprintf(sh.stderr, "%s: %v\n", command, err)
	return 1
}

// plain says about an error what a person would read of a real command.
func plain(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: No such file or directory", name)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%s: Read-only file system", name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: Permission denied", name)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// operands are the arguments that are no options.
func operands(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })
}

func echo(sh *shell, args []string) int {
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
	if _, err := io.WriteString(sh.stdout, text); err != nil {
		return 1
	}
	return 0
}

func exit(sh *shell, args []string) int {
	code := sh.status
	if len(args) > 0 {
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return sh.exit(2)
		}
		code = n
	}
	return sh.exit(code)
}

func isSleep(args []string) bool {
	for _, a := range args {
		if _, ok := pause(a); !ok {
			return false
		}
	}
	return len(args) > 0
}

// endless is longer than anything here lives.
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

func sleep(sh *shell, args []string) int {
	var all time.Duration
	for _, a := range args {
		d, _ := pause(a)
		all = min(all+d, endless)
	}
	sh.sleep(all)
	return 0
}

func forever(sh *shell, _ []string) int {
	<-sh.ctx.Done()
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

func seq(sh *shell, args []string) int {
	first, last := 1, 0
	if len(args) == 2 {
		first, _ = strconv.Atoi(args[0])
	}
	last, _ = strconv.Atoi(args[len(args)-1])
	for i := first; i <= last && sh.ctx.Err() == nil; i++ {
		fmt.Fprintln(sh.stdout, i)
	}
	return 0
}

func isDate(args []string) bool {
	return len(args) == 0 || len(args) == 1 && args[0] == "+%s"
}

func date(sh *shell, args []string) int {
	if now := time.Now().UTC(); len(args) > 0 {
		fmt.Fprintln(sh.stdout, now.Unix())
	} else {
		fmt.Fprintln(sh.stdout, now.Format(time.UnixDate))
	}
	return 0
}

func hostname(sh *shell, _ []string) int {
	fmt.Fprintln(sh.stdout, sh.env.Hostname)
	return 0
}

func pwd(sh *shell, _ []string) int {
	fmt.Fprintln(sh.stdout, sh.dir)
	return 0
}

func environ(sh *shell, args []string) int {
	if len(args) == 1 {
		v, ok := sh.vars[args[0]]
		if !ok {
			return 1
		}
		fmt.Fprintln(sh.stdout, v)
		return 0
	}
	lines := make([]string, 0, len(sh.vars))
	for k, v := range sh.vars {
		lines = append(lines, k+"="+v)
	}
	slices.Sort(lines)
	for _, l := range lines {
		fmt.Fprintln(sh.stdout, l)
	}
	return 0
}

func export(sh *shell, args []string) int {
	for _, a := range args {
		if name, value, ok := strings.Cut(a, "="); ok {
			sh.vars[name] = value
		}
	}
	return 0
}

func cd(sh *shell, args []string) int {
	dir := sh.vars["HOME"]
	if len(args) > 0 {
		dir = args[0]
	}
	dir = sh.abs(dir)
	if info, err := sh.env.Files.Stat(dir); err != nil || !info.IsDir() {
		return sh.fail("cd", fmt.Errorf("can't cd to %s", dir))
	}
	sh.dir = path.Clean(dir)
	return 0
}
