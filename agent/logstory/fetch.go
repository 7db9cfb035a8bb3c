package logstory

import (
	"bufio"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/nodelog"
	"github.com/podstep/podstep/probes/klog"
)

// NodeOf returns the node that a name such as node/worker-1 stands for. A file with that name comes first.
func NodeOf(name string) (node string, is bool) {
	node, is = strings.CutPrefix(name, "node/")
	if !is || node == "" || strings.Contains(node, "/") {
		return "", false
	}
	_, err := os.Stat(name)
	return node, errors.Is(err, os.ErrNotExist)
}

// fetched copies the logs of a node on another machine.
func fetched(name, node string, fetch func(string, nodelog.Keep) error) (out []*input, err error) {
	b := bufio.NewReaderSize(nil, sniffed)
	err = fetch(node, func(f nodelog.File) (bool, error) {
		b.Reset(f.Text)
		written := f.Written
		if written.IsZero() {
			written = time.Now()
		}
		in, err := spoolLog(name, f.Name, b, written)
		if in == nil || err != nil {
			return false, err
		}
		in.zone = zoneByEnd(in.file, f.Written)
		out = append(out, in)
		return true, nil
	})
	if err != nil {
		return nil, errors.Join(err, closeAll(out))
	}
	return out, nil
}

const (
	// tail is how much of the end of a log is looked at for its zone, in bytes.
	tail = 64 << 10
	// zoneStep is what zones differ by, and zoneMost by how much at most.
	zoneStep, zoneMost = 15 * time.Minute, 14 * time.Hour
	// zoneDoubt is how late a file's time may be after its last line.
	zoneDoubt = 5 * time.Minute
)

// zoneByEnd finds the zone of a kubelet's clock, which klog's text does not have: by when the file was last written to,
// or, without that, by the time in UTC with which journalctl begins the line. nil: it cannot be found.
func zoneByEnd(file *os.File, written time.Time) *time.Location {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil
	}
	end := make([]byte, min(size, tail))
	if _, err := file.ReadAt(end, size-int64(len(end))); err != nil {
		return nil
	}
	for _, line := range slices.Backward(strings.Split(string(end), "\n")) {
		h, ok := klog.ReadHeader(klog.AfterSyslog(line))
		if !ok {
			continue
		}
		truth := written
		if truth.IsZero() {
			if truth = klog.SyslogTime(line, time.Now()); truth.IsZero() {
				continue
			}
		}
		ahead := h.Time(truth.UTC()).Sub(truth)
		zone := ahead.Round(zoneStep)
		if (ahead-zone).Abs() > zoneDoubt || zone.Abs() > zoneMost {
			return nil
		}
		return time.FixedZone("", int(zone.Seconds()))
	}
	return nil
}
