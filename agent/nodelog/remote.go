package nodelog

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/kubeapi"
)

// Remote is a node on another machine whose logs its kubelet serves, behind the API server. The kubelet runs journalctl
// for a node log query, if enableSystemLogQuery is set in its configuration, and otherwise serves the files below
// /var/log, unless enableSystemLogHandler is false. Source: pkg/kubelet/kubelet.go and kubelet_server_journal.go of
// v1.36.
type Remote struct {
	API  *kubeapi.Client
	Node string
	// Since and Until bound what a query asks for; the zero time: no bound.
	Since, Until time.Time
}

// File is a log of a node on another machine.
type File struct {
	// Name is its path below /var/log, or the name of a service.
	Name string
	// Written is when it was last written to; the zero time: it is the answer to a query, and if journalctl has written
	// it, each line begins with a time in UTC.
	Written time.Time
	Text    io.Reader
}

// Keep takes a file and reports whether it is the log of a kubelet or of a runtime. If it is, Keep has read it to its
// end.
type Keep func(File) (bool, error)

// services are the names of the services that may have a kubelet's log, and a runtime's; in the order in which they are
// asked for.
var services = [][]string{
	{"kubelet", "k3s", "k3s-agent", "rke2-server", "rke2-agent", "snap.kubelet.daemon", "snap.microk8s.daemon-kubelite"},
	{"containerd", "crio", "cri-o", "snap.microk8s.daemon-containerd"},
}

const (
	// lastLines is how many lines are asked for if no time bounds them: a kubelet allows no more.
	lastLines = 100_000
	// queryLimit is how long a kubelet lets a query run.
	queryLimit = 30 * time.Second
	// maxRemote bounds what is read of one log, in bytes.
	maxRemote = 4 << 30
	// maxListing bounds the list of a directory, and maxFiles how many files are asked for.
	maxListing = 4 << 20
	maxFiles   = 200
)

// ErrCut is returned for the log of a query that the kubelet ended.
var ErrCut = fmt.Errorf("the kubelet ends a query after %s, so the end of the log may be missing; ask for less with --since and --until", queryLimit)

// Each hands over the logs of the kubelet and of the runtime.
func (r *Remote) Each(ctx context.Context, keep Keep) error {
	found := false
	for _, names := range services {
		for _, service := range names {
			answer, err := r.query(ctx, service, keep)
			switch {
			case errors.Is(err, ErrListing):
				return r.files(ctx, keep)
			case err != nil:
				return fmt.Errorf("ask node %s for the log of %s: %w", r.Node, service, err)
			}
			if found = found || answer; answer {
				break
			}
		}
	}
	if !found {
		return r.files(ctx, keep)
	}
	return nil
}

// ErrListing is returned if a kubelet answers a query with the list of its files: it allows no queries.
var ErrListing = errors.New("the kubelet allows no node log queries")

// query asks for the log of a service, and reports whether there is one.
func (r *Remote) query(ctx context.Context, service string, keep Keep) (bool, error) {
	q := url.Values{"query": {service}}
	if !r.Since.IsZero() {
		q.Set("sinceTime", r.Since.UTC().Format(time.RFC3339))
	} else {
		q.Set("tailLines", strconv.Itoa(lastLines))
	}
	if !r.Until.IsZero() {
		q.Set("untilTime", r.Until.UTC().Add(time.Second).Format(time.RFC3339)) // it is whole seconds
	}
	ok, err := r.keepQuery(ctx, service, q, keep)
	if errors.Is(err, errOptions) {
		ok, err = r.keepQuery(ctx, service, url.Values{"query": {service}}, keep)
	}
	return ok, err
}

// errOptions is returned if the log of a service is a file: then a query takes no options.
var errOptions = errors.New("a query for a file takes no options")

func (r *Remote) keepQuery(ctx context.Context, service string, q url.Values, keep Keep) (bool, error) {
	began := time.Now()
	resp, err := r.open(ctx, "", q)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	text := bufio.NewReaderSize(&kubeapi.Bounded{R: resp.Body, Left: maxRemote}, 64<<10)
	begin, _ := text.Peek(1024)
	switch {
	case IsListing(begin):
		return false, ErrListing
	case TakesNoOptions(begin):
		return false, errOptions
	}
	ok, err := keep(File{Name: service, Text: text})
	if err == nil && ok && time.Since(began) >= queryLimit {
		err = ErrCut
	}
	return ok, err
}

// TakesNoOptions reports whether an answer to a query begins with what the kubelet writes if the log is a file, and the
// query has options.
func TakesNoOptions(begin []byte) bool {
	return strings.Contains(string(begin[:min(len(begin), 1024)]), "options present and query resolved to log files")
}

// IsListing reports whether an answer begins as the list of a directory: a kubelet that allows no node log queries takes no
// notice of one, and answers so. Old and new versions of Go write it in two ways.
func IsListing(begin []byte) bool {
	return bytes.HasPrefix(begin, []byte("<pre>")) || bytes.HasPrefix(begin, []byte("<!doctype html>"))
}

func (r *Remote) open(ctx context.Context, file string, q url.Values) (*http.Response, error) {
	file = (&url.URL{Path: file}).EscapedPath()
	resp, err := r.API.Open(ctx, kubeapi.Request{Path: "api/v1/nodes/" + url.PathEscape(r.Node) + "/proxy/logs/" + file, Query: q})
	switch {
	case kubeapi.IsCode(err, http.StatusForbidden, http.StatusUnauthorized):
		return nil, fmt.Errorf("%w; it takes the right to get nodes/proxy", err)
	case kubeapi.IsCode(err, http.StatusMethodNotAllowed):
		return nil, errors.New("its kubelet serves no logs: enableSystemLogHandler or enableDebuggingHandlers is false in its configuration")
	}
	return resp, err
}

// The words in names of files that may be the log of a kubelet or of a runtime, and of directories that may have such.
var (
	ofLogs = []string{"kubelet", "containerd", "crio", "cri-o", "k3s", "rke2", "messages", "syslog", "daemon.log"}
	ofDirs = []string{"kubernetes", "kubelet", "containerd", "crio", "k3s", "rke2"}
)

// files hands over the files below /var/log that are logs of a kubelet or a runtime.
func (r *Remote) files(ctx context.Context, keep Keep) error {
	names, err := r.list(ctx, "")
	for _, dir := range slices.Clone(names) {
		if err == nil && strings.HasSuffix(dir, "/") && containsAny(dir, ofDirs) {
			var below []string
			below, err = r.list(ctx, dir)
			names = append(names, below...)
		}
	}
	if err != nil {
		return fmt.Errorf("list the logs of node %s: %w", r.Node, err)
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return strings.HasSuffix(name, "/") || !containsAny(path.Base(name), ofLogs)
	})
	found := false
	for _, name := range names[:min(len(names), maxFiles)] {
		ok, err := r.keepFile(ctx, name, keep)
		if err != nil {
			return fmt.Errorf("read %s of node %s: %w", name, r.Node, err)
		}
		found = found || ok
	}
	if found {
		return nil
	}
	since := ""
	if !r.Since.IsZero() {
		since = ", written since " + r.Since.Format(time.DateTime) + ","
	}
	return fmt.Errorf("node %s: no file below /var/log%s is a log of a kubelet or a runtime, and node log queries find none or are off (enableSystemLogQuery in the kubelet's configuration); take the logs there with journalctl -u kubelet -u containerd -o json, and name the file", r.Node, since)
}

func containsAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

func (r *Remote) keepFile(ctx context.Context, name string, keep Keep) (bool, error) {
	resp, err := r.open(ctx, name, nil)
	if kubeapi.IsCode(err, http.StatusNotFound) { // it was renamed
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	written, err := http.ParseTime(resp.Header.Get("Last-Modified"))
	if err != nil {
		written = time.Now()
	}
	if !r.Since.IsZero() && written.Before(r.Since) {
		return false, nil
	}
	return keep(File{name, written, &kubeapi.Bounded{R: resp.Body, Left: maxRemote}})
}

// list returns the paths in a directory of the kubelet's logs. The path of a directory ends with a slash, except that of
// the first, which is empty.
func (r *Remote) list(ctx context.Context, dir string) (out []string, err error) {
	resp, err := r.open(ctx, dir, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(&kubeapi.Bounded{R: resp.Body, Left: maxListing})
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		// The server of net/http writes one link a line, with a path that is relative.
		_, link, is := strings.Cut(line, `<a href="`)
		link, _, _ = strings.Cut(link, `"`)
		if name, err := url.PathUnescape(strings.TrimPrefix(link, "./")); is && err == nil && name != "" && !strings.HasPrefix(name, "/") && !strings.Contains(name, "..") {
			out = append(out, dir+name)
		}
	}
	return out, nil
}
