package nodelog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Log is where a process writes its log.
type Log struct {
	pid int
	// started tells the process from a later one with its PID.
	started uint64
	// file names the standard error of the process, as an open file; "": the process writes to the journal.
	file string
	// Zone is the zone of the process's clock.
	Zone *time.Location
	// cursor is the journal's mark of the last entry that Follow has handed over.
	cursor string
}

// ErrNone is returned if a process logs to a place where podstep cannot read.
var ErrNone = errors.New("it writes its log neither to a file nor to a journal that can be read here")

// Of finds the log of a process.
func Of(ctx context.Context, pid int) (*Log, error) {
	l := &Log{pid: pid, started: startOf(pid), Zone: zoneOf(pid)}
	file := filepath.Join("/proc", strconv.Itoa(pid), "fd/2")
	info, err := os.Stat(file)
	if err == nil && info.Mode().IsRegular() {
		l.file = file
		return l, nil
	}
	text, noJournal := l.journal(ctx, "--lines=1")
	switch {
	case noJournal == nil && len(text) > 0:
		return l, nil
	case errors.Is(err, os.ErrPermission): // the journal may be read by others than root
		return nil, err
	case noJournal != nil:
		return nil, noJournal
	}
	return nil, ErrNone
}

// zoneOf returns the zone in which a process writes times: by its environment, or by the file of its system.
func zoneOf(pid int) *time.Location {
	root := filepath.Join("/proc", strconv.Itoa(pid), "root")
	if data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ")); err == nil {
		if name := variable(data, "TZ"); name != "" {
			if zone, err := time.LoadLocation(name); err == nil {
				return zone
			}
		}
	}
	info, err := os.Stat(root + "/etc/localtime")
	if err != nil || info.Size() > maxZone {
		return time.Local
	}
	if data, err := os.ReadFile(root + "/etc/localtime"); err == nil {
		if zone, err := time.LoadLocationFromTZData("Local", data); err == nil {
			return zone
		}
	}
	return time.Local
}

// maxZone bounds the file of a time zone, in bytes.
const maxZone = 1 << 20
