package past

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"
)

// crashDir is the directory to which the process writes that TestKilled kills; "": this is the test itself.
const crashDir = "PODSTEP_TEST_CRASH_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		crashWriter(dir)
		return
	}
	os.Exit(m.Run())
}

// crashWriter records events until it is killed.
func crashWriter(dir string) {
	a := newFakeAgent("node-1", time.Now())
	o := Options{Dir: dir, Keep: MinKeep, Tap: a.tap, Print: func(line string) { fmt.Println(line) }, segmentTime: 20 * time.Millisecond}
	if _, err := Start(o); err != nil {
		fmt.Println(err)
		return
	}
	for i := 0; ; i++ {
		a.call(time.Since(a.start), uint32(i%3+1), uint64(i+1), 1)
		a.noisy(10)
		if i == 10 {
			fmt.Println("begun")
		}
		time.Sleep(time.Millisecond)
	}
}

// TestKilled: what a podstep has recorded that was killed at any moment can be read, and the next one goes on.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	const kills = 8
	for range kills {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), crashDir+"="+dir)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if line != "begun\n" {
			t.Errorf("the writer says %q, %v", line, err)
		}
		time.Sleep(time.Duration(rand.IntN(int(300 * time.Millisecond))))
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
		if size := sizeOf(t, dir); size > MinKeep {
			t.Errorf("the directory has %d bytes", size)
		}
		s := read(t, dir, Choice{})
		s.seqs(t)
		if len(s.events) == 0 {
			t.Error("nothing can be read")
		}
	}
	r, err := Open(Dir(dir), Choice{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n := len(r.Has()); n == 0 || n > kills {
		t.Errorf("there are recordings of %d runs, of %d", n, kills)
	}
}
