// Package metrics shows Prometheus what an attached podstep sees and does: the kubelet's
// calls to its runtime, what they take, what podstep adds to them, and how podstep fares.
//
// The relay process counts, in arrays of fixed size, and knows nothing of Prometheus; Metrics adds its counts up. The
// agent's own counters are read when somebody scrapes. Labels have few values: names of the CRI's methods, codes,
// probes.
package metrics
