package companion

import (
	"bytes"
	"encoding/gob"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

type word struct{ Text string }

// TestBeats: a side works if the goroutine works that receives: what its other goroutines send shows nothing.
func TestBeats(t *testing.T) {
	for name, blocks := range map[string]bool{"it receives": false, "it does not get done with a message": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			near, far := net.Pipe()
			c, l := NewClient[word](near, "companion"), NewDuplex[word](far)
			defer c.Fail()
			defer l.Fail()
			go c.Run(func(*word) {})
			c.Send(word{"work"})
			if m, err := l.Receive(); m.Text != "work" || err != nil {
				t.Fatalf("received %v, %v", m, err)
			}
			if !blocks {
				go l.Attend()
			}
			quiet := Silence{}
			for began := time.Now(); time.Since(began) < 6*BeatEvery; time.Sleep(BeatEvery / 5) {
				l.Send(word{"news"})
				quiet.Update(time.Now(), c.answers(), true)
			}
			if blocks != (c.answers() == 0) {
				t.Errorf("%d beats were answered", c.answers())
			}
			if since := l.Handles(); blocks != (since != 0) {
				t.Errorf("it handles a message: %v", since)
			}
			if blocks && l.Silent() != 0 {
				t.Error("it takes the other side for silent, and does not receive itself")
			}
		})
	}
}

// TestLost: a side that does not read gets what there is room for, and the number of what there was none for. Each message
// came or was counted.
func TestLost(t *testing.T) {
	near, far := net.Pipe()
	one, other := NewDuplex[word](near), NewDuplex[word](far)
	const many = 3 * maxQueued
	lost, came := 0, 0
	other.OnLost = func(n int) {
		if lost += n; came+lost >= many {
			other.Fail() // nothing follows
		}
	}
	for range many {
		one.Send(word{"a"})
	}
	defer one.Fail()
	for came+lost < many {
		if _, err := other.Receive(); err != nil {
			break
		}
		came++
	}
	if lost == 0 || came+lost != many {
		t.Errorf("%d messages came and %d were lost of %d", came, lost, many)
	}
}

// TestEnds: the other side ends, with nothing under way, in the middle of a message, or before it has read all. It is an end
// each time.
func TestEnds(t *testing.T) {
	var whole bytes.Buffer
	if err := gob.NewEncoder(&whole).Encode(frame[word]{Message: &word{"news"}}); err != nil {
		t.Fatal(err)
	}
	for name, last := range map[string]func(net.Conn) error{
		"nothing under way": func(net.Conn) error { return nil },
		"half a message": func(c net.Conn) error {
			_, err := c.Write(whole.Bytes()[:whole.Len()/2])
			return err
		},
		"not read": func(c net.Conn) error {
			_, err := c.Read(make([]byte, 1)) // the rest has come, and stays
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			near, far := pair(t)
			l := NewDuplex[word](near)
			defer l.Fail()
			l.Send(word{"work"})
			if err := last(far); err != nil {
				t.Fatal(err)
			}
			if err := far.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Receive(); err != io.EOF {
				t.Errorf("received %v, want the end", err)
			}
		})
	}
}

// pair returns both ends of a link as Start makes it.
func pair(t *testing.T) (a, b net.Conn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ends := [2]net.Conn{}
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "link")
		if ends[i], err = net.FileConn(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	return ends[0], ends[1]
}
