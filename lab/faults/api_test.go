package faults

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// certificate writes one certificate that is authority, server and client at once.
func certificate(t *testing.T) Certificates {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	crt, pem1 := filepath.Join(dir, "crt"), filepath.Join(dir, "key")
	for file, block := range map[string]*pem.Block{crt: {Type: "CERTIFICATE", Bytes: der}, pem1: {Type: "EC PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Certificates{CA: crt, ServerCert: crt, ServerKey: pem1, KubeletCert: crt, KubeletKey: pem1}
}

// apiServer starts a pretended API server behind a Server. It returns a client of the Server, its address, and how many
// requests the API server got.
func apiServer(t *testing.T, table *Table) (client *http.Client, address string, got *atomic.Int32) {
	t.Helper()
	files := certificate(t)
	config, err := files.load()
	if err != nil {
		t.Fatal(err)
	}
	got = &atomic.Int32{}
	api := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Add(1)
		if len(r.TLS.PeerCertificates) == 0 {
			t.Error("the API server is shown no certificate")
		}
		_, _ = io.WriteString(w, r.Method+" "+r.URL.Path)
	}))
	api.TLS = config.server
	api.StartTLS()
	t.Cleanup(api.Close)
	s, err := ListenAPI(table, api.Listener.Addr().String(), files)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve() }()
	client = &http.Client{Transport: &http.Transport{TLSClientConfig: config.client.Clone(), ForceAttemptHTTP2: true}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return client, "https://" + s.listener.Addr().String(), got
}

const statusPath = "/api/v1/namespaces/a/pods/web/status"

func TestRequestsHaveOwners(t *testing.T) {
	table := NewTable()
	table.Watch("a", nil)
	client, address, _ := apiServer(t, table)
	for _, c := range []struct{ method, path, call string }{
		{"PATCH", statusPath, "api patch pods/status #1"},
		{"GET", "/api/v1/namespaces/a/pods/web", "api get pods #1"},
		{"DELETE", "/api/v1/namespaces/a/pods/web", "api delete pods #1"},
		{"POST", "/api/v1/namespaces/a/events", "api create events #1"},
		{"POST", "/api/v1/namespaces/a/serviceaccounts/default/token", "api create serviceaccounts/token #1"},
		{"GET", "/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3Dsettings", "api list configmaps settings #1"},
		{"GET", "/api/v1/namespaces/a/configmaps?watch=true&fieldSelector=metadata.name%3Dsettings", "api watch configmaps settings #1"},
		{"GET", "/api/v1/pods", ""},
		{"GET", "/api/v1/nodes/node-1", ""},
		{"GET", "/readyz", ""},
		{"GET", "/api/v1/namespaces/b/pods/web", ""},
	} {
		before := len(table.Seen("a"))
		r, err := http.NewRequestWithContext(t.Context(), c.method, address+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if path, _, _ := strings.Cut(c.path, "?"); string(text) != c.method+" "+path {
			t.Errorf("%s %s is answered with %q", c.method, c.path, text)
		}
		seen := table.Seen("a")
		switch {
		case c.call == "" && len(seen) == before:
		case c.call != "" && len(seen) == before+1 && seen[before].String() == c.call:
		default:
			t.Errorf("%s %s: seen is %v", c.method, c.path, seen[before:])
		}
	}
}

func TestBrokenRequests(t *testing.T) {
	for _, c := range []struct {
		action Action
		status int // 0: there is no answer
		passed int32
	}{
		{Forbidden, 403, 0}, {Missing, 404, 0}, {Conflict, 409, 0}, {TooManyRequests, 429, 0}, {InternalError, 500, 0},
		{Empty, 200, 0}, {Cut, 0, 0}, {Lost, 0, 1},
	} {
		t.Run(string(c.action), func(t *testing.T) {
			table := NewTable()
			table.Watch("a", &Rule{Call: Call{Side: API, Method: "patch pods/status"}, From: 1, Always: true, Action: c.action, Text: "on purpose"})
			client, address, got := apiServer(t, table)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, address+statusPath, nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := client.Do(r)
			if err != nil {
				if c.status != 0 {
					t.Errorf("no answer: %v", err)
				}
			} else {
				defer answer.Body.Close()
				checkAnswer(t, answer, c.status)
			}
			if got.Load() != c.passed {
				t.Errorf("the API server got %d requests", got.Load())
			}
		})
	}
}

func checkAnswer(t *testing.T, answer *http.Response, want int) {
	t.Helper()
	if answer.StatusCode != want {
		t.Errorf("the status is %s", answer.Status)
	}
	if want < 400 {
		return
	}
	var s metav1.Status
	if err := json.NewDecoder(answer.Body).Decode(&s); err != nil || int(s.Code) != want || s.Message != "on purpose" || s.Reason == "" {
		t.Errorf("the answer is %+v, %v", s, err)
	}
}

// TestHangingRequest: a request hangs until the rule is lifted, and has no answer then.
func TestHangingRequest(t *testing.T) {
	table := NewTable()
	table.Watch("a", &Rule{Call: Call{Side: API, Method: "get pods"}, From: 1, Action: Hang})
	client, address, got := apiServer(t, table)
	ended := make(chan error, 1)
	go func() {
		answer, err := client.Get(address + "/api/v1/namespaces/a/pods/web")
		if err == nil {
			err = errors.Join(errors.New("it is answered"), answer.Body.Close())
			ended <- err
			return
		}
		ended <- nil
	}()
	for calls := 0; calls < 1; calls, _ = table.Broken("a") {
		time.Sleep(time.Millisecond)
	}
	table.Forget("a")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got.Load() != 0 {
		t.Error("the API server got the request")
	}
}

func TestFilesMustBeThere(t *testing.T) {
	files := certificate(t)
	for name, change := range map[string]func(*Certificates){
		"no authority":   func(f *Certificates) { f.CA += "-none" },
		"no server":      func(f *Certificates) { f.ServerCert += "-none" },
		"no kubelet":     func(f *Certificates) { f.KubeletKey += "-none" },
		"no certificate": func(f *Certificates) { f.CA = f.ServerKey },
	} {
		f := files
		change(&f)
		if _, err := ListenAPI(NewTable(), "127.0.0.1:1", f); err == nil {
			t.Errorf("%s: there is no error", name)
		}
	}
	if _, err := tls.LoadX509KeyPair(files.ServerCert, files.ServerKey); err != nil {
		t.Error(err)
	}
}
