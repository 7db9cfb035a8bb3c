// Package scrape serves metrics to Prometheus, over HTTP: those of an attached podstep, and those of podstep alert.
package scrape

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Address reads where to serve metrics: "9090" and ":9090" are a port of the loopback interface, "0.0.0.0:9090" is
// taken literally. open is true if other machines may reach the address.
func Address(text string) (address string, open bool, err error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = "", text
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", false, fmt.Errorf("%q is no address to serve metrics at: give a port, such as 9090, or an address and a port, such as 127.0.0.1:9090", text)
	}
	switch host {
	case "", "localhost":
		return net.JoinHostPort("127.0.0.1", port), false, nil
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return "", false, fmt.Errorf("%q is no address to serve metrics at: %q is no IP address", text, host)
	}
	return net.JoinHostPort(host, port), !ip.Unmap().IsLoopback(), nil
}

// Open warns a person of an address that other machines may reach.
const Open = "anybody who reaches this address can read the metrics, without a password"

// Server serves metrics over HTTP.
type Server struct {
	http     *http.Server
	listener net.Listener
	ended    chan struct{}
}

// Listen listens on an address from Address. The caller does so first, to fail early if the address cannot be had.
func Listen(address string) (*Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve metrics: %w", err)
	}
	return &Server{listener: l, ended: make(chan struct{})}, nil
}

// maxScrapes bounds the requests that are answered at one time.
const maxScrapes = 4

// Address returns the address at which the server listens.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Serve begins to answer with these metrics, and with those of this process.
func (s *Server) Serve(m prometheus.Collector) {
	r := prometheus.NewRegistry()
	r.MustRegister(m, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewGoCollector())
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes}))
	s.http = &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	go func() {
		defer close(s.ended)
		_ = s.http.Serve(s.listener)
	}()
}

// Stop stops the server. It does nothing for a nil server.
func (s *Server) Stop(ctx context.Context) error {
	if s == nil {
		return nil
	}
	if s.http == nil {
		return s.listener.Close()
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		err = s.http.Close() // a client reads slowly
	}
	<-s.ended
	return err
}
