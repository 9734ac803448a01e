// Package checks grades a step from what is in the journal, and from nothing
// else: Evidence folds events, Rules hold a step's compiled expressions, and
// Evaluate gives a verdict with the events that prove it. docs/checks.md lists
// the words that an expression may use.
//
// The package is pure. It must not import os, os/exec or net, read a clock, or
// know where the events come from; the time is a value of Input.
//
//	report.go     what a grading says; the JSON of `lab check`
//	model.go      the values that an expression sees
//	evidence.go   Evidence and Fold; xds.go, processes.go, stats.go, traffic.go its parts
//	language.go   the CEL environment; functions.go the functions
//	rules.go      a step's rules, compiled; scope.go one evaluation of them
//	evaluate.go   verdicts; template.go words with ${expressions}
package checks
