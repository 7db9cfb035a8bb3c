package filefaults

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: it does not hold after 20 s", what)
		}
	}
}

func equalOps(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the operations are\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestEachOperationIsDecided(t *testing.T) {
	s := play(t, pass)
	begin(t, s.dir, s.socket, "all").ends()
	equalOps(t, s.kept(),
		"mkdir d", "create d/f", "open d/f", "rename d/f d/g", "symlink d/s ../elsewhere/", "link d/h d/g", "chmod d/g",
		"chown d/g", "chown d/s", "truncate d/g", "remove d/g", "remove d/s",
		// RemoveAll tries a file first, then reads the directory and removes what it finds.
		"remove d", "rmdir d", "open .", "remove d", "open d", "remove d/h", "rmdir d",
		"mkdir e", "remove e", "rmdir e")
}

func TestOneOperationFails(t *testing.T) {
	var mkdirs atomic.Int32
	s := play(t, func(_ context.Context, op Operation) unix.Errno {
		if op.Kind == Mkdir && mkdirs.Add(1) == 2 {
			return unix.ENOSPC
		}
		return 0
	})
	p := begin(t, s.dir, s.socket, "mkdirs")
	p.prints("a ok")
	p.prints("b ENOSPC")
	p.prints("c ok")
	p.ends()
	if _, err := os.Stat(filepath.Join(s.dir, "b")); !os.IsNotExist(err) {
		t.Errorf("the directory was made all the same: %v", err)
	}
}

// hanging returns a decision that lets one operation hang, and what is sent to when it begins to.
func hanging(name string) (Decide, chan string) {
	hangs := make(chan string, 10)
	return func(ctx context.Context, op Operation) unix.Errno {
		if op.Path == name {
			hangs <- op.Path
			<-ctx.Done()
			return unix.EIO // too late: the operation goes on
		}
		return 0
	}, hangs
}

func TestOneOperationHangs(t *testing.T) {
	decide, hangs := hanging("hangs")
	s := play(t, decide)
	p := begin(t, s.dir, s.socket, "hangs")
	<-hangs
	p.goOn()
	p.prints("others went on")
	if _, err := os.Stat(filepath.Join(s.dir, "hangs")); !os.IsNotExist(err) {
		t.Errorf("the directory was made while the operation hangs: %v", err)
	}
	before := len(s.kept())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p.prints("hangs ok")
	// The process can still do what it likes, and is not asked about.
	p.prints("later ok")
	p.ends()
	equalOps(t, s.kept()[before:])
}

func TestOneOperationComesLate(t *testing.T) {
	const late = 300 * time.Millisecond
	s := play(t, func(_ context.Context, op Operation) unix.Errno {
		if op.Path == "b" {
			time.Sleep(late)
		}
		return 0
	})
	start := time.Now()
	p := begin(t, s.dir, s.socket, "mkdirs")
	p.prints("a ok")
	p.prints("b ok")
	if took := time.Since(start); took < late {
		t.Errorf("it took %s, less than %s", took, late)
	}
	p.prints("c ok")
	p.ends()
}

func TestRelativePaths(t *testing.T) {
	s := play(t, pass)
	p := begin(t, s.dir, s.socket, "relative")
	for _, line := range []string{
		"in root ok", "empty ok", "empty and refused ENOENT", "no directory EBADF", "in removed ENOENT",
	} {
		p.prints(line)
	}
	p.ends()
	equalOps(t, s.kept(),
		"mkdir d", "mkdir d/e", "open d", "mkdir d/made", "rename d/made moved", "create d/new", "chown d",
		"mkdir d/from-e", "remove d/e", "rmdir d/e", "mkdir d/e/x")
}

func TestBadAddresses(t *testing.T) {
	s := play(t, pass)
	p := begin(t, s.dir, s.socket, "bad")
	for _, line := range []string{
		"null EFAULT", "high EFAULT", "cut off EFAULT", "at the end ok", "too long ENAMETOOLONG", "no flags EFAULT",
	} {
		p.prints(line)
	}
	p.ends()
	equalOps(t, s.kept(), "mkdir aa")
}

func TestManyThreadsAndSignals(t *testing.T) {
	s := play(t, pass)
	p := begin(t, s.dir, s.socket, "many")
	p.prints("made")
	p.ends()
	got := s.kept()
	slices.Sort(got)
	got = slices.Compact(got)
	if len(got) != 4000 {
		t.Errorf("%d operations were decided, want 4000", len(got))
	}
	made, err := os.ReadDir(s.dir)
	if err != nil || len(made) != 4000 {
		t.Errorf("%d files were made, want 4000: %v", len(made), err)
	}
}

// openFiles returns how many files this process has open.
func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func TestNothingIsLeftOfAKilledProcess(t *testing.T) {
	decide, hangs := hanging("hangs")
	s := play(t, decide)
	begin(t, s.dir, s.socket, "mkdirs").cmd.Wait() // what is opened only once, is open now
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	for range 3 {
		p := begin(t, s.dir, s.socket, "hangs")
		<-hangs
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.cmd.Wait()
		_ = p.stdin.Close()
	}
	eventually(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= goroutines })
	eventually(t, "as many open files as before", func() bool { return openFiles(t) <= files })
}

func TestAKilledChildIsNotWaitedFor(t *testing.T) {
	hangs, ended := make(chan struct{}), make(chan struct{})
	s := play(t, func(ctx context.Context, op Operation) unix.Errno {
		if op.Path == "b" {
			close(hangs)
			<-ctx.Done()
			close(ended)
		}
		return 0
	})
	p := begin(t, s.dir, s.socket, "parent")
	<-hangs
	p.goOn()
	p.prints("killed")
	select {
	case <-ended: // while its parent still runs
	case <-time.After(10 * time.Second):
		t.Error("the decision about a killed child's operation does not end")
	}
	p.goOn()
	p.ends()
}

func TestAProcessThatIsStartedAgainOffersAgain(t *testing.T) {
	s := play(t, pass)
	for i := range 3 {
		dir := filepath.Join(s.dir, strconv.Itoa(i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		p := begin(t, dir, s.socket, "mkdirs")
		p.prints("a ok")
		p.prints("b ok")
		p.prints("c ok")
		p.ends()
	}
	equalOps(t, s.kept(),
		"mkdir 0/a", "mkdir 0/b", "mkdir 0/c", "mkdir 1/a", "mkdir 1/b", "mkdir 1/c", "mkdir 2/a", "mkdir 2/b", "mkdir 2/c")
}

func TestNoMoreThanTheBoundHang(t *testing.T) {
	decide, hangs := hanging("hangs")
	s := play(t, decide, func(s *Server) { s.slots = make(chan struct{}, 1) })
	p := begin(t, s.dir, s.socket, "hangs")
	select {
	case <-hangs:
	case <-time.After(10 * time.Second):
		t.Fatal("nothing hangs")
	}
	p.goOn()
	p.prints("others went on")
	equalOps(t, s.kept(), "mkdir hangs")
	_ = s.Close()
	p.prints("hangs ok")
	p.prints("later ok")
	p.ends()
}

func TestTheSupervisorDies(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "socket")
	supervisor := begin(t, dir, "", "supervisor", socket)
	supervisor.prints("listens")
	p := begin(t, dir, socket, "mkdirs")
	supervisor.prints("hangs")
	if err := supervisor.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.prints("a ENOSYS")
	p.prints("b ENOSYS")
	p.prints("c ENOSYS")
	p.ends()
}

func TestOfferFails(t *testing.T) {
	s := play(t, pass)
	p := begin(t, s.dir, s.socket, "offers twice")
	p.prints("install filter: this process has one with a listener already: device or resource busy")
	p.ends()

	p = begin(t, s.dir, filepath.Join(s.dir, "none"), "mkdirs")
	const why = ": connect: no such file or directory"
	p.prints("offer: connect to supervisor: dial unixpacket " + filepath.Join(s.dir, "none") + why)
}

// TestTheSupervisorMayNotRead offers this process itself: the error comes before the filter.
func TestTheSupervisorMayNotRead(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unixpacket", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = conn.Read(make([]byte, 8))
		_, _ = conn.Write(binary.NativeEndian.AppendUint32(nil, uint32(unix.EPERM)))
	}()
	if err := Offer(socket); !errors.Is(err, unix.EPERM) || !strings.Contains(err.Error(), "ptrace_scope") {
		t.Errorf("offer: %v", err)
	}
}

// TestClientsThatOfferNothing: the server refuses them and goes on.
func TestClientsThatOfferNothing(t *testing.T) {
	s := play(t, pass)
	text := []byte("another text\x00")
	for place, want := range map[uintptr]unix.Errno{8: unix.EFAULT, uintptr(unsafe.Pointer(&text[0])): unix.ESRCH} {
		conn, err := net.Dial("unixpacket", s.socket)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write(binary.NativeEndian.AppendUint64(nil, uint64(place)))
		answer := make([]byte, 4)
		if _, err := conn.Read(answer); err != nil || unix.Errno(binary.NativeEndian.Uint32(answer)) != want {
			t.Errorf("the answer is %v, want %v: %v", answer, want, err)
		}
		_ = conn.Close()
	}
	p := begin(t, s.dir, s.socket, "mkdirs")
	p.prints("a ok")
	p.prints("b ok")
	p.prints("c ok")
	p.ends()
}

func TestListen(t *testing.T) {
	s := play(t, pass)
	info, err := os.Stat(s.socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket's mode is %v: %v", info.Mode(), err)
	}
	if _, err := Listen(s.socket); err == nil {
		t.Error("a second server listens at the same socket")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
	if _, err := os.Stat(s.socket); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

// BenchmarkOpen measures what it costs to open and close one file: by itself, and decided by another process.
func BenchmarkOpen(b *testing.B) {
	cost := map[string]float64{}
	for _, how := range []string{"free", "decided"} {
		b.Run(how, func(b *testing.B) {
			dir, socket := b.TempDir(), ""
			if how == "decided" {
				socket = filepath.Join(dir, "socket")
				s, err := Listen(socket)
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				go func() { _ = s.Serve(pass) }()
			}
			out, err := partCommand(dir, socket, "opens", strconv.Itoa(b.N)).Output()
			if err != nil {
				b.Fatal(err)
			}
			took, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
			if err != nil {
				b.Fatal(err)
			}
			cost[how] = took / float64(b.N)
			b.ReportMetric(cost[how], "ns/op")
		})
	}
	if cost["free"] > 0 {
		b.Logf("a decided open costs %.1f times as much: %.1f µs in place of %.1f µs",
			cost["decided"]/cost["free"], cost["decided"]/1000, cost["free"]/1000)
	}
}
