// Package session is one running lab: the background process that owns its
// parts (control plane, Envoy, upstreams, probes, sampler), writes its journal
// and grades its steps. It is the only owner of processes; everything else
// reaches it over its control socket.
//
//	folder.go     where things are; run.json
//	launch.go     what `lab start` does in the foreground
//	serve.go      the background process from lock to stop
//	parts.go      control plane and Envoy: start, stop, notice the end
//	grade.go      check, why, hints, answers
//	moves.go      steps: open, next, goto, reset, skip, solution
//	status.go     what `lab status` tells
//	calls.go      the calls of the control socket
//	page.go       the port of the live page, and what it asks of the session
//	marked.go     the line of the file that a NACK is about
package session
