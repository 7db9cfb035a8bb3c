package faults

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// Certificates are the paths of certificates and keys.
type Certificates struct {
	CA                      string // of the API server and its clients
	ServerCert, ServerKey   string // the API server's, which the kubelet is shown
	KubeletCert, KubeletKey string // the kubelet's, which the API server is shown
}

// Server stands in the place of an API server for the kubelet, and passes requests on to it in the kubelet's name.
type Server struct {
	table    *Table
	listener net.Listener
	server   *http.Server
	proxy    *httputil.ReverseProxy
	info     *apirequest.RequestInfoFactory
}

// ListenAPI opens a port of 127.0.0.1 for the kubelet. target is the address of the API server.
func ListenAPI(t *Table, target string, files Certificates) (*Server, error) {
	config, err := files.load()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for requests to the API server: %w", err)
	}
	to := &url.URL{Scheme: "https", Host: target}
	s := &Server{
		table: t, listener: listener,
		info: &apirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")},
		proxy: &httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
			Transport:     &http.Transport{TLSClientConfig: config.client, ForceAttemptHTTP2: true},
			FlushInterval: -1, // the kubelet waits for the events of its watches
		},
	}
	s.server = &http.Server{Handler: s, TLSConfig: config.server}
	return s, nil
}

// Port returns the port for the kubelet.
func (s *Server) Port() int { return s.listener.Addr().(*net.TCPAddr).Port }

// Serve passes requests on until Close.
func (s *Server) Serve() error { return s.server.ServeTLS(s.listener, "", "") }

// Close ends all requests.
func (s *Server) Close() error { return s.server.Close() }

type tlsConfigs struct{ server, client *tls.Config }

func (f Certificates) load() (tlsConfigs, error) {
	server, err := tls.LoadX509KeyPair(f.ServerCert, f.ServerKey)
	if err != nil {
		return tlsConfigs{}, fmt.Errorf("read the API server's certificate: %w", err)
	}
	kubelet, err := tls.LoadX509KeyPair(f.KubeletCert, f.KubeletKey)
	if err != nil {
		return tlsConfigs{}, fmt.Errorf("read the kubelet's certificate: %w", err)
	}
	text, err := os.ReadFile(f.CA)
	if err != nil {
		return tlsConfigs{}, fmt.Errorf("read the certificate authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return tlsConfigs{}, fmt.Errorf("read the certificate authority: %s has no certificate", f.CA)
	}
	return tlsConfigs{
		server: &tls.Config{Certificates: []tls.Certificate{server}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12},
		client: &tls.Config{Certificates: []tls.Certificate{kubelet}, RootCAs: pool, MinVersion: tls.VersionTLS12},
	}, nil
}

// ServeHTTP passes a request on, or breaks it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	namespace, c, err := s.about(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var rule *Rule
	var lifted <-chan struct{}
	if namespace != "" {
		rule, lifted = s.table.strike(namespace, c)
	}
	if rule == nil {
		s.proxy.ServeHTTP(w, r)
		return
	}
	switch rule.Action {
	case Hang:
		<-either(r.Context(), lifted)
		panic(http.ErrAbortHandler)
	case Late:
		pause(r.Context(), lifted, LateBy)
		s.proxy.ServeHTTP(w, r)
	case Cut:
		panic(http.ErrAbortHandler)
	case Lost:
		if r.URL.Query().Get("watch") == "" {
			// The request is carried out even if the kubelet does not wait for it.
			s.proxy.ServeHTTP(discard{http.Header{}}, r.WithContext(context.WithoutCancel(r.Context())))
		}
		panic(http.ErrAbortHandler)
	case Empty:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
	default:
		refuse(w, rule)
	}
}

// discard is a response that nobody gets.
type discard struct{ header http.Header }

func (d discard) Header() http.Header       { return d.header }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

// reasons are the reasons that an API server gives with its statuses.
var reasons = map[int]metav1.StatusReason{
	http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusConflict: metav1.StatusReasonConflict,
	http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests, http.StatusInternalServerError: metav1.StatusReasonInternalError,
}

func refuse(w http.ResponseWriter, rule *Rule) {
	status, err := strconv.Atoi(string(rule.Action))
	if err != nil {
		status = http.StatusInternalServerError
	}
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Message: rule.Text, Reason: reasons[status], Code: int32(status),
	})
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// about returns whose request it is. It is nobody's if it is about the node or about the pods of all namespaces.
func (s *Server) about(r *http.Request) (namespace string, c Call, err error) {
	info, err := s.info.NewRequestInfo(r)
	if err != nil {
		return "", Call{}, fmt.Errorf("read request: %w", err)
	}
	namespace = info.Namespace
	if info.Resource == "persistentvolumes" {
		namespace = s.table.whose(info.Name).namespace // it has none, and is known as a volume
	}
	if !info.IsResourceRequest || namespace == "" {
		return "", Call{}, nil
	}
	c = Call{Side: API, Method: info.Verb + " " + info.Resource}
	if info.Subresource != "" {
		c.Method += "/" + info.Subresource
	}
	// Events are one kind of request, whatever they report, and a pod that is watched has one volume at most.
	if !slices.Contains([]string{"pods", "serviceaccounts", "events", "persistentvolumes"}, info.Resource) {
		c.Object = info.Name
	}
	return namespace, c, nil
}
