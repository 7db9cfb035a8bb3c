package logstory

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
)

// BenchmarkStory tells the story of a log, and prints how fast that is. Its peer is a search for one text in the same
// log, as grep does it.
func BenchmarkStory(b *testing.B) {
	once, err := os.ReadFile("testdata/v4.log")
	if err != nil {
		b.Fatal(err)
	}
	text := bytes.Repeat(once, 100)
	name := write(b, "log", text)
	b.Run("story", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			s, err := Open([]string{name}, recorded)
			if err != nil {
				b.Fatal(err)
			}
			for err == nil {
				_, err = s.Next()
			}
			if !errors.Is(err, io.EOF) {
				b.Fatal(err)
			}
			s.Close()
		}
	})
	b.Run("peer", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			all, err := os.ReadFile(name)
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for line := range bytes.Lines(all) {
				if bytes.Contains(line, []byte("SyncPod enter")) {
					n++
				}
			}
			if n == 0 {
				b.Fatal("nothing was found")
			}
		}
	})
}
