package ash

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// dirFiles are files below a directory.
type dirFiles string

func (d dirFiles) at(name string) string { return filepath.Join(string(d), name) }

func (d dirFiles) Open(name string) (io.ReadCloser, error) { return os.Open(d.at(name)) }
func (d dirFiles) Create(name string, appending bool) (io.WriteCloser, error) {
	if appending {
		return os.OpenFile(d.at(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	}
	return os.Create(d.at(name))
}
func (d dirFiles) Stat(name string) (fs.FileInfo, error) { return os.Stat(d.at(name)) }
func (d dirFiles) Mkdir(name string) error               { return os.Mkdir(d.at(name), 0o755) }
func (d dirFiles) Remove(name string) error              { return os.RemoveAll(d.at(name)) }
func (d dirFiles) List(name string) ([]string, error) {
	entries, err := os.ReadDir(d.at(name))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// both collects output of several goroutines.
type both struct {
	sync.Mutex
	bytes.Buffer
}

func (b *both) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(p)
}

func env(dir string, out, errOut io.Writer) Env {
	return Env{Vars: map[string]string{"NAME": "web", "LIST": "a b"}, Hostname: "pod-1", User: User{7, 8, "seven", []int64{8, 9}}, Files: dirFiles(dir), Stdout: out, Stderr: errOut,
		Serve: func(ctx context.Context, port int, dir string) error {
			io.WriteString(out, "serving "+dir+"\n")
			<-ctx.Done()
			return nil
		}}
}

func sh(text string) []string { return []string{"sh", "-c", text} }

func TestPrograms(t *testing.T) {
	for _, c := range []struct {
		argv []string
		out  string
		err  string
		code int
	}{
		{[]string{"true"}, "", "", 0},
		{[]string{"/bin/false"}, "", "", 1},
		{[]string{"echo", "-n", "a $b", "c"}, "a $b c", "", 0},
		{[]string{"sh"}, "", "", 0},
		{sh("echo a; echo b >&2"), "a\n", "b\n", 0},
		{sh("echo no configuration >&2; exit 1"), "", "no configuration\n", 1},
		{sh("false || echo or; true && echo and"), "or\nand\n", "", 0},
		{sh("false && echo no"), "", "", 1},
		{sh("! false"), "", "", 0},
		{sh("exit 300"), "", "", 44},
		{sh("false; exit"), "", "", 1},
		{sh("exit 3; echo never"), "", "", 3},
		{sh("seq 1 3"), "1\n2\n3\n", "", 0},
		{sh("echo $NAME '$NAME' \"${NAME}x\" $NONE."), "web $NAME webx .\n", "", 0},
		{sh("for i in $LIST c; do echo \"<$i>\"; done"), "<a>\n<b>\n<c>\n", "", 0},
		{sh("for i in \"$LIST\"; do echo \"<$i>\"; done"), "<a b>\n", "", 0},
		{sh("i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done"), "0\n1\n2\n", "", 0},
		{sh("i=3\nuntil [ $i -eq 0 ]\ndo\n  i=$(( $i - 1 ))\ndone\necho $i"), "0\n", "", 0},
		{sh("if [ $NAME = web ]; then echo yes; else echo no; fi"), "yes\n", "", 0},
		{sh("if false; then echo 1; elif test -n \"$NAME\"; then echo 2; fi"), "2\n", "", 0},
		{sh("{ echo a; echo b; } ; echo $(hostname)"), "a\nb\npod-1\n", "", 0},
		{sh("echo one > f; echo two >> f; cat f; cat < f"), "one\ntwo\none\ntwo\n", "", 0},
		{sh("touch a && test -f a && rm a; test -e a"), "", "", 1},
		{sh("cat none"), "", "cat: can't open: none: No such file or directory\n", 1},
		{sh("cat none 2>/dev/null || echo gone"), "gone\n", "", 0},
		{sh("mkdir -p d/e && echo x > d/e/f && cp d/e/f d && ls d"), "e\nf\n", "", 0},
		{sh("cd /none || pwd; mkdir d; cd d; pwd"), "/\n/d\n", "cd: can't cd to /none\n", 0},
		{sh("rm -rf none; rm none"), "", "rm: none: No such file or directory\n", 1},
		{sh("echo a # b\n# c\necho 'd\ne'"), "a\nd\ne\n", "", 0},
		{sh("echo $(echo \"$(hostname) x\") ')'"), "pod-1 x )\n", "", 0},
		{sh("i=2; echo $((${i}*3)) $(( 7 % 4 )) \"a\\q\\\"\""), "6 3 a\\q\"\n", "", 0},
		{sh("a=1 b=\"$NAME 2\"; echo $a$b; a=; echo $a."), "1web 2\n.\n", "", 0},
		{sh("echo a\\ b \\\n c"), "a b c\n", "", 0},
		{sh("exec echo last; echo never"), "last\n", "", 0},
		{sh("trap 'echo bye' EXIT; echo hi"), "hi\nbye\n", "", 0},
		{sh("echo bg & wait; echo done"), "bg\ndone\n", "", 0},
		{sh("echo $(id -u):$(id -g); id -un; id -G; id"), "7:8\nseven\n8 9\nuid=7(seven) gid=8 groups=8,9\n", "", 0},
		{sh("echo -e 'a\\tb'"), "a\tb\n", "", 0},
		{sh("printenv NAME; export X=1; printenv X; printenv Y"), "web\n1\n", "", 1},
		{sh("i=0; while [ $i -lt 3 ]; do i=$((i+1)); [ $i -eq 2 ] && echo two; done"), "two\n", "", 1},
		{sh("N=-f; [ \"$N\" = x ] || echo ne; [ ! \"$N\" = -f ] || echo eq; [ x -eq 0 ]"), "ne\neq\n", "sh: x: bad number\n", 2},
		{sh("trap 'echo bye; exit 3' EXIT; exit 1"), "bye\n", "", 3},
		{sh("trap 'echo bye' EXIT; false"), "bye\n", "", 1},
		{sh("exit $NAME"), "", "", 2},
		{sh("cat < /none; cat < /dev/null; mkdir d; cd d; pwd > f; cat f $PWD/f"), "/d\n/d\n", "sh: /none: No such file or directory\n", 0},
		{sh("X='*'; echo $X {a,b} {\"c\":1}"), "* {a,b} {c:1}\n", "", 0},
		{sh("X=1; export Y=\"$LIST\"; env"), "LIST=a b\nNAME=web\nY=a b\n", "", 0},
		{sh("for i in 1 2; do echo $i; done & wait; echo $UID$TMPDIR$HOME."), "1\n2\n.\n", "", 0},
		{sh("mkdir /tmp; echo ours > /tmp/sh-interp-0; cat < /tmp/sh-interp-0"), "ours\n", "", 0},
		{sh("X=$(seq 1 100000); test \"$X\" = \"$(seq 1 90000)\" && echo capped"), "capped\n", "", 0},
		{sh("echo out > /dev/stderr; echo err 1>&2 2>/dev/null"), "", "out\nerr\n", 0},
	} {
		p, err := Parse(c.argv)
		if err != nil {
			t.Errorf("%q: %v", c.argv, err)
			continue
		}
		var out, errOut both
		code := Start(t.Context(), p, env(t.TempDir(), &out, &errOut)).Wait()
		if out.String() != c.out || errOut.String() != c.err || code != c.code {
			t.Errorf("%q: %d, %q, %q; want %d, %q, %q", c.argv, code, out.String(), errOut.String(), c.code, c.out, c.err)
		}
	}
}

// TestUnknown: a command line of which a part is not understood is refused as a whole.
func TestUnknown(t *testing.T) {
	for _, argv := range [][]string{
		nil, {"nginx"}, {"sh", "-ec", "true"}, {"sh", "script.sh"}, {"exit", "1"}, {"sleep"}, {"sleep", "soon"}, {"tail", "-f", "log"},
		{"httpd", "-p", "80"}, {"httpd", "-f"}, {"seq", "-1"}, {"date", "+%F"}, {"cat", "-n"},
		sh("echo a; nginx"), sh("echo a | cat"), sh("(echo a)"), sh("echo *"), sh("echo `date`"), sh("echo ${A:-b}"), sh("$CMD"),
		sh("case a in a) echo;; esac"), sh("f() { true; }"), sh("echo 'open"), sh("while true; do echo"), sh("if true; fi"), sh("done"),
		sh("a=1 env"), sh("cat <<EOF\nEOF"), sh("sleep $N"), sh("echo $((1+2+3))"), sh("trap 'nginx' TERM"), sh("trap true USR1"),
		sh("test -x a"), sh("[ a = b"), sh("echo >"), sh("; echo"), sh("echo a &> b"), sh("echo a 0> b"), sh("echo a 3>&1"), sh("{ echo; } > b"), sh("if true; then fi"), sh("a+=1"), sh("for i; do true; done"),
		sh("echo ~"), sh("echo a\\"), sh("echo \xff"), sh("echo ${#A}"), sh("echo $1"), sh("echo $'a'\\''"), sh("(("), sh("ls [ab]"), sh("echo $"), sh("$(nginx)"),
		sh("echo $(sleep 1 & echo a)"), sh("echo $(< f)"), sh("echo $(wait)"), sh("echo $((1/N))"), sh("exec cd /"), sh("echo \\{a,b}{c,d}"),
		sh(strings.Repeat("{ ", 100)), sh("echo " + strings.Repeat("$(echo ", 100)), sh(strings.Repeat("! ", 100)),
	} {
		if _, err := Parse(argv); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", argv, err)
		}
	}
}

// TestTime runs programs that wait, in a bubble where time passes at once.
func TestTime(t *testing.T) {
	for _, c := range []struct {
		name, text string
		term       time.Duration // when SIGTERM comes, 0 is never
		kill       time.Duration // when the context ends, 0 is never
		code       int
		after      time.Duration
		out        string
	}{
		{"sleeps", "sleep 1; sleep 2m 0.5", 0, 0, 0, 121500 * time.Millisecond, ""},
		{"killed", "sleep infinity", 0, time.Hour, Killed, time.Hour, ""},
		{"no trap", "sleep 1h", time.Second, 0, 0, time.Hour, ""},
		{"trap while waiting", "trap 'echo bye; exit 5' TERM; sleep 1h & wait", time.Minute, 0, 5, time.Minute, "bye\n"},
		{"trap behind a command", "trap 'exit 5' TERM; sleep 1h", time.Minute, 0, 5, time.Hour, ""},
		{"trap that goes on", "trap 'echo no' TERM; sleep 10 & wait; wait; echo end", time.Second, 0, 0, 10 * time.Second, "no\nend\n"},
		{"trap is taken back", "trap 'exit 5' TERM; trap - TERM; sleep 10", time.Second, 0, 0, 10 * time.Second, ""},
		{"signal is ignored", "trap '' TERM; sleep 10", time.Second, 0, 0, 10 * time.Second, ""},
		{"server", "httpd -f -p 80 -h /www & wait", 0, time.Minute, Killed, time.Minute, "serving /www\n"},
		{"exit ends the background", "sleep 1h & sleep 1; exit 2", 0, 0, 2, time.Second, ""},
		{"tail", "tail -f /dev/null", 0, time.Minute, Killed, time.Minute, ""},
		{"loop", "while true; do echo tick; sleep 20; done", 0, time.Minute - 1, Killed, time.Minute - 1, "tick\ntick\ntick\n"},
		{"killed in the background", "sleep 1h & sleep 2h & wait", 0, time.Minute, Killed, time.Minute, ""},
		{"trap between commands", "trap 'echo bye; exit 5' TERM; sleep 10 && echo no", time.Second, 0, 5, 10 * time.Second, "bye\n"},
		{"trap keeps the exit code", "trap 'true' TERM; sleep 1; ! sleep 1", 1500 * time.Millisecond, 0, 1, 2 * time.Second, ""},
		{"busy loop", "while true; do true; done", 0, time.Second, Killed, time.Second, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Parse(sh(c.text))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.kill > 0 {
					time.AfterFunc(c.kill, cancel)
				}
				var out both
				begin := time.Now()
				proc := Start(ctx, p, env(dir, &out, io.Discard))
				if c.term > 0 {
					time.AfterFunc(c.term, func() { proc.Terminate() })
				}
				code := proc.Wait()
				if took := time.Since(begin); code != c.code || took != c.after || out.String() != c.out {
					t.Errorf("%d after %v, %q; want %d after %v, %q", code, took, out.String(), c.code, c.after, c.out)
				}
			})
		})
	}
}

// FuzzProgram: any text is refused or run to its end, and reaches no files but its own.
func FuzzProgram(f *testing.F) {
	for _, s := range []string{
		"echo a; exit 1", "trap 'exit 0' TERM; httpd -f -p 80 & wait", "i=0; while [ $i -lt 3 ]; do i=$((i+1)); done",
		"if true; then echo $(date); fi", "for i in a b; do echo $i >> f; done", "rm -rf /; mkdir -p a/b; cp f a", "echo \"$A\" 'b' \\c 2>&1 >/dev/null",
	} {
		f.Add(s)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(sh(text))
		if err != nil {
			if !errors.Is(err, ErrUnknown) {
				t.Errorf("%v", err)
			}
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		e := env(dir, io.Discard, io.Discard)
		e.Files = noFiles{}
		proc := Start(ctx, p, e)
		proc.Terminate()
		proc.Wait()
	})
}

// noFiles has no files and accepts none.
type noFiles struct{}

func (noFiles) Open(string) (io.ReadCloser, error)          { return nil, fs.ErrNotExist }
func (noFiles) Create(string, bool) (io.WriteCloser, error) { return nil, fs.ErrPermission }
func (noFiles) Stat(string) (fs.FileInfo, error)            { return nil, fs.ErrNotExist }
func (noFiles) List(string) ([]string, error)               { return nil, fs.ErrNotExist }
func (noFiles) Mkdir(string) error                          { return fs.ErrPermission }
func (noFiles) Remove(string) error                         { return fs.ErrPermission }
