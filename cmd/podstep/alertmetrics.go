package main

import (
	"context"

	"github.com/podstep/podstep/agent/scrape"
	"github.com/podstep/podstep/cmd/podstep/alerting"
)

// serveMetrics counts the matches of an alert, and serves the counts at an address, as --metrics names it; "" stands for
// nowhere. The caller must call stop.
func (p *alertPrinter) serveMetrics(expr, at string) (stop func(), err error) {
	if at == "" {
		return func() {}, nil
	}
	address, open, err := scrape.Address(at)
	if err != nil {
		return nil, usagef("--metrics: %v", err)
	}
	s, err := scrape.Listen(address)
	if err != nil {
		return nil, err
	}
	if open {
		p.printf("podstep: --metrics %s: %s", at, scrape.Open)
	}
	p.metrics = alerting.NewMetrics(expr)
	s.Serve(p.metrics)
	p.printf("podstep: metrics at http://%s/metrics", s.Address())
	return func() {
		if err := s.Stop(context.Background()); err != nil {
			p.printf("podstep: stop the metrics: %v", err)
		}
	}, nil
}
