package verbosity

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/kubeport"
	"github.com/podstep/podstep/probes/kubelets"
)

// partEnv makes this test program the guard, or a podstep that raises and then waits; it is the URL of the kubelet.
const (
	partEnv = "PODSTEP_TEST_VERBOSITY"
	urlEnv  = "PODSTEP_TEST_URL"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == Role {
		pretend(os.Args[2])
		os.Exit(Main())
	}
	if part := os.Getenv(partEnv); part != "" {
		pretend(os.Getenv(urlEnv))
		os.Exit(raiser(part))
	}
	os.Exit(m.Run())
}

// pretend makes podstep find a pretended kubelet.
func pretend(url string) {
	portOf = func(*kubelets.Kubelet, string) (*kubeport.Port, error) {
		return &kubeport.Port{URLs: []string{url}, Client: &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the server is the test's
		}}}, nil
	}
	kubeletOf = func(_ context.Context, pid int) (kubelets.Kubelet, error) { return kubelets.Kubelet{PID: pid}, nil }
}

// raiser is a podstep that has raised the -v of the kubelet with a PID, and waits. It prints a line when it has.
func raiser(part string) int {
	var pid int
	var dir string
	if _, err := fmt.Sscanf(part, "%d %s", &pid, &dir); err != nil {
		return 2
	}
	started, err := kubelets.Started(pid)
	if err != nil {
		return 2
	}
	if _, err := Raise(context.Background(), options(pid, started, dir, os.Getenv(urlEnv))); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("raised")
	select {}
}

func options(pid int, started uint64, dir, url string) Options {
	return Options{
		Kubelet: kubelets.Kubelet{PID: pid, Started: started}, To: 4, For: time.Minute, Dir: dir,
		guard: []string{os.Args[0], Role, url}, short: func(*kubelets.Kubelet) string { return "" },
	}
}

// kubelet is a pretended kubelet: a process that lives, and a server.
type kubelet struct {
	t       *testing.T
	pid     int
	started uint64
	dir     string
	url     string

	mu    sync.Mutex
	set   []int // the values that were set
	wake  chan struct{}
	fails int // the status of answers to PUT; 0: it works
}

func startKubelet(t *testing.T) *kubelet {
	t.Helper()
	k := &kubelet{t: t, dir: t.TempDir(), wake: make(chan struct{}, 100)}
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	k.pid = cmd.Process.Pid
	var err error
	if k.started, err = kubelets.Started(k.pid); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(k)
	t.Cleanup(server.Close)
	k.url = server.URL
	pretend(k.url)
	return k
}

func (k *kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/configz":
		fmt.Fprint(w, `{"kubeletconfig":{"logging":{"format":"text","verbosity":2}}}`)
	case k.fails != 0:
		w.WriteHeader(k.fails)
	case r.Method == http.MethodPut && r.URL.Path == "/debug/flags/v":
		text, _ := io.ReadAll(r.Body)
		v, err := strconv.Atoi(string(text))
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		k.set = append(k.set, v)
		k.wake <- struct{}{}
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// fail makes the kubelet refuse to set a value; 0: it sets it again.
func (k *kubelet) fail(status int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fails = status
}

// expect waits until the values were set.
func (k *kubelet) expect(want ...int) {
	k.t.Helper()
	for {
		k.mu.Lock()
		got := fmt.Sprint(k.set)
		n := len(k.set)
		k.mu.Unlock()
		switch {
		case got == fmt.Sprint(want):
			return
		case n >= len(want):
			k.t.Fatalf("set were %s, want %v", got, want)
		}
		<-k.wake
	}
}

func (k *kubelet) raise() (*Raised, error) {
	return Raise(k.t.Context(), options(k.pid, k.started, k.dir, k.url))
}

// noRecord waits until the record is gone.
func (k *kubelet) noRecord() {
	k.t.Helper()
	for range time.Tick(10 * time.Millisecond) {
		if _, err := os.Stat(fileOf(k.dir, k.pid)); errors.Is(err, os.ErrNotExist) {
			return
		}
	}
}

// TestRaise raises and puts back.
func TestRaise(t *testing.T) {
	k := startKubelet(t)
	r, err := k.raise()
	if err != nil {
		t.Fatal(err)
	}
	k.expect(4)
	if all, err := Records(k.dir); err != nil || len(all) != 1 || all[0].Old != 2 || all[0].To != 4 || !all[0].guarded() {
		t.Errorf("the records are %+v, %v", all, err)
	}
	if _, err := k.raise(); err == nil || !strings.Contains(err.Error(), "another podstep has raised the kubelet's -v to 4, until") {
		t.Errorf("a second one: %v", err)
	}
	if again, err := Restore(t.Context(), k.dir); err != nil || len(again) != 0 {
		t.Errorf("restored while a guard is there: %v, %v", again, err)
	}
	for range 2 {
		if err := r.Back(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	k.expect(4, 2)
	k.noRecord()
	select {
	case <-r.link.Done():
	case <-t.Context().Done():
	}
	k.expect(4, 2) // the guard does nothing
}

// TestGuard ends or stops a podstep that has raised: the guard puts the old value back.
func TestGuard(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			k := startKubelet(t)
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", partEnv, k.pid, k.dir), urlEnv+"="+k.url)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			})
			line := make([]byte, 200)
			if n, err := out.Read(line); err != nil || string(line[:n]) != "raised\n" {
				t.Fatalf("it printed %q, %v", line[:n], err)
			}
			k.expect(4)
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			k.expect(4, 2)
			k.noRecord()
		})
	}
}

// TestGuardEnds: when a guard dies or hangs, podstep starts another one, and that one puts the old value back.
func TestGuardEnds(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			k := startKubelet(t)
			notes := make(chan string, 10)
			o := options(k.pid, k.started, k.dir, k.url)
			o.Note = func(text string, err error) { notes <- fmt.Sprint(text, ": ", err) }
			r, err := Raise(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			before, err := Records(k.dir)
			if err != nil || len(before) != 1 {
				t.Fatal(before, err)
			}
			first := before[0].Guard
			if err := syscall.Kill(first, sig); err != nil {
				t.Fatal(err)
			}
			if note := <-notes; !strings.HasPrefix(note, "podstep has started another verbosity guard: the verbosity guard") {
				t.Errorf("the note is %q", note)
			}
			if all, err := Records(k.dir); err != nil || len(all) != 1 || all[0].Guard == first || !all[0].guarded() {
				t.Errorf("the records are %+v, %v", all, err)
			}
			if err := r.Back(t.Context()); err != nil {
				t.Fatal(err)
			}
			k.noRecord()
			if kubelets.Same(first, before[0].GuardStarted) {
				t.Error("the first guard is still there")
			}
		})
	}
}

// TestBackFails: if podstep cannot put the old value back, its guard does it later.
func TestBackFails(t *testing.T) {
	k := startKubelet(t)
	r, err := k.raise()
	if err != nil {
		t.Fatal(err)
	}
	k.fail(http.StatusServiceUnavailable)
	if err := r.Back(t.Context()); err == nil || !strings.Contains(err.Error(), "podstep's guard tries again") {
		t.Errorf("it ended with %v", err)
	}
	k.fail(0)
	k.expect(4, 2)
	k.noRecord()
}

// TestLeftRaised: podstep and its guard have died. The next podstep takes the value from before for the old one, and
// podstep restore puts it back.
func TestLeftRaised(t *testing.T) {
	k := startKubelet(t)
	left := Record{PID: k.pid, Started: k.started, Guard: 1, GuardStarted: 1, Old: 1, To: 5}
	if err := left.write(k.dir); err != nil {
		t.Fatal(err)
	}
	r, err := k.raise()
	if err != nil || r.Old != 1 {
		t.Fatalf("the old value is %+v, %v", r, err)
	}
	if err := r.Back(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.expect(4, 1)
	if err := left.write(k.dir); err != nil {
		t.Fatal(err)
	}
	if got, err := Restore(t.Context(), k.dir); err != nil || len(got) != 1 || got[0].Err != nil || got[0].Old != 1 {
		t.Errorf("restored: %+v, %v", got, err)
	}
	k.expect(4, 1, 1)
	k.noRecord()

	gone := Record{PID: k.pid, Started: k.started + 1, Old: 1, To: 5}
	if err := gone.write(k.dir); err != nil {
		t.Fatal(err)
	}
	if got, err := Restore(t.Context(), k.dir); err != nil || len(got) != 0 {
		t.Errorf("of a kubelet that has ended: %+v, %v", got, err)
	}
	k.noRecord()
}

// TestRefused is about kubelets and nodes that do not take another -v.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		to, status int
		short      string
		want       string
	}{
		"not higher": {to: 2, want: "the kubelet's -v is 2 already"},
		"forbidden":  {to: 4, status: http.StatusForbidden, want: "lack the right to get and update nodes/proxy"},
		"off":        {to: 4, status: http.StatusMethodNotAllowed, want: "enableDebugFlagsHandler is off"},
		"fails":      {to: 4, status: http.StatusInternalServerError, want: "500 Internal Server Error"},
		"short":      {to: 4, short: "the load is 9", want: "the kubelet's -v stays as it is: the load is 9"},
	} {
		k := startKubelet(t)
		k.fail(c.status)
		o := options(k.pid, k.started, k.dir, k.url)
		o.To, o.short = c.to, func(*kubelets.Kubelet) string { return c.short }
		_, err := Raise(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "tries again") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		k.fail(0)
		k.noRecord()
	}
}

// TestShortage judges made machines.
func TestShortage(t *testing.T) {
	for _, c := range []struct {
		pressure, load string
		want           string
	}{
		{"some avg10=12.50 avg60=1.0 avg300=0 total=1\n", "9.0 1.0 1.0 1/1 1", ""},
		{"some avg10=72.50 avg60=1.0 avg300=0 total=1\n", "0.1", "tasks of this machine waited for a CPU in 72 % of the last ten seconds"},
		{"", "3.9 1.0", ""},
		{"", "4.1 1.0", "the load of this machine is 4.1 with 2 CPUs"},
		{"nonsense", "nonsense", ""},
	} {
		if got := shortOfCPU(c.pressure, c.load, 2); got != c.want {
			t.Errorf("%q %q: %q, want %q", c.pressure, c.load, got, c.want)
		}
	}
	for _, c := range []struct {
		free, size uint64
		want       string
	}{{20 << 30, 100 << 30, ""}, {5 << 30, 100 << 30, "/var/log has 5120 MiB free of 102400"}, {1 << 29, 1 << 30, "/var/log has 512 MiB free of 1024"}} {
		if got := shortOfDisk("/var/log", c.free, c.size); got != c.want {
			t.Errorf("%d of %d: %q", c.free, c.size, got)
		}
	}
}
