package checks

import (
	"fmt"
	"reflect"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"
)

// Language is CEL with the words of this package and the params and questions
// of a lab. A misspelt field, variable or function is an error when an
// expression is compiled. It is safe for concurrent use.
type Language struct {
	env    *cel.Env
	params map[string]ParamType
}

// ParamType is that of a param in expressions.
type ParamType string

// The types of params.
const (
	StringParam ParamType = "string"
	IntParam    ParamType = "int"
)

// Prefixes of variables whose names a lab chooses.
const (
	paramPrefix  = "param."
	answerPrefix = "answer."
)

// maxCost bounds one evaluation, in CEL's units: some 100 ms.
const maxCost = 5_000_000

// The types of the language.
var (
	evidenceType  = cel.OpaqueType("evidence")
	resourceType  = cel.ObjectType("checks.Resource")
	responseType  = cel.ObjectType("checks.Response")
	processType   = cel.ObjectType("checks.Process")
	windowType    = cel.ObjectType("checks.Window")
	responsesType = cel.ListType(responseType)
	stringsType   = cel.ListType(cel.StringType)
)

// NewLanguage makes the language for a lab: its params by name, and the ids of
// a step's questions. A question first-type is the variable answer.first_type.
func NewLanguage(params map[string]ParamType, questions []string) (*Language, error) {
	opts := []cel.EnvOption{
		cel.OptionalTypes(),
		cel.CrossTypeNumericComparisons(true),
		ext.Bindings(),
		ext.Strings(ext.StringsVersion(4)),
		ext.Sets(),
		ext.Lists(ext.ListsVersion(3)),
		ext.NativeTypes(
			reflect.TypeFor[Resource](), reflect.TypeFor[Response](), reflect.TypeFor[Request](), reflect.TypeFor[Stream](),
			reflect.TypeFor[Snapshot](), reflect.TypeFor[Refused](), reflect.TypeFor[Problem](), reflect.TypeFor[Process](),
			reflect.TypeFor[Command](), reflect.TypeFor[Opening](), reflect.TypeFor[Window](),
			reflect.TypeFor[Access](), reflect.TypeFor[SlowRequest](),
			ext.ParseStructTags(true),
		),
		cel.Variable("evidence", evidenceType),
	}
	for _, name := range []string{"CDS", "EDS", "LDS", "RDS", "SDS"} {
		opts = append(opts, cel.Constant(name, cel.StringType, types.String(name)))
	}
	for _, v := range variables {
		opts = append(opts, cel.Variable(v.name, v.kind))
	}
	for name, kind := range params {
		t := cel.StringType
		if kind == IntParam {
			t = cel.IntType
		}
		opts = append(opts, cel.Variable(paramPrefix+name, t))
	}
	for _, id := range questions {
		opts = append(opts, cel.Variable(answerPrefix+AnswerName(id), cel.StringType))
	}
	env, err := cel.NewCustomEnv(append([]cel.EnvOption{cel.StdLib()}, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("checks: the language: %w", err)
	}
	l := &Language{params: params}
	if l.env, err = env.Extend(functionOptions(env.CELTypeAdapter())...); err != nil {
		return nil, fmt.Errorf("checks: the functions: %w", err)
	}
	return l, nil
}

// AnswerName is how a question's id is written behind "answer.".
func AnswerName(question string) string { return strings.ReplaceAll(question, "-", "_") }

// functionOptions declares the functions. Those that read evidence are written
// as global calls: a macro makes them calls on the variable evidence, so that
// a compiled expression holds no evidence itself.
func functionOptions(adapter types.Adapter) []cel.EnvOption {
	var opts []cel.EnvOption
	var macros []cel.Macro
	for _, f := range functions {
		if f.plain {
			opts = append(opts, cel.Function(f.name, cel.Overload(f.name, f.args, f.result, cel.FunctionBinding(
				func(args ...ref.Val) ref.Val { return adapt(adapter)(f.eval(nil, args)) }))))
			continue
		}
		args := append([]*cel.Type{evidenceType}, f.args...)
		opts = append(opts, cel.Function(f.name, cel.MemberOverload("evidence_"+f.name, args, f.result, cel.FunctionBinding(
			func(args ...ref.Val) ref.Val {
				return adapt(adapter)(f.eval(args[0].(*evidenceValue).evidence, args[1:]))
			}))))
		macros = append(macros, cel.GlobalMacro(f.name, len(f.args),
			func(eh cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
				return eh.NewMemberCall(f.name, eh.NewIdent("evidence"), args...), nil
			}))
	}
	return append(opts, cel.Macros(macros...))
}

func adapt(adapter types.Adapter) func(any, error) ref.Val {
	return func(v any, err error) ref.Val {
		if err != nil {
			return types.WrapErr(err)
		}
		return adapter.NativeToValue(v)
	}
}

// evidenceValue is evidence as a CEL value. Expressions cannot do anything
// with it but pass it to the functions.
type evidenceValue struct{ evidence *Evidence }

func (v *evidenceValue) ConvertToNative(reflect.Type) (any, error) {
	return nil, fmt.Errorf("evidence is no value of its own")
}

func (v *evidenceValue) ConvertToType(ref.Type) ref.Val {
	return types.NewErr("evidence is no value of its own")
}
func (v *evidenceValue) Equal(other ref.Val) ref.Val { return types.Bool(other == ref.Val(v)) }
func (v *evidenceValue) Type() ref.Type              { return evidenceType }
func (v *evidenceValue) Value() any                  { return v.evidence }
