//! Order between values of different kinds is an error here, not an answer.
//!
//! The template language orders any two values: `null > 100` and `"50" > 100` have answers there. A condition that
//! guards money must not get one, so every `<`, `<=`, `>`, `>=` is turned into a filter that fails for such operands.

use minijinja::machinery::ast::{BinOpKind, CallArg, CompareOpKind, Expr, UnaryOpKind};
use minijinja::machinery::parse_expr;
use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};

/// The filter's name.
pub const FILTER: &str = "stagekeeper_order";

/// The same expression with strict order.
///
/// # Errors
/// When the source is no expression.
pub fn strict(source: &str) -> Result<String, Error> {
    Ok(write(&parse_expr(source)?))
}

/// `left|stagekeeper_order("<", right)`.
///
/// # Errors
/// When the two are neither both numbers nor both texts.
pub fn order(left: &Value, op: &str, right: &Value) -> Result<bool, Error> {
    match (left.kind(), right.kind()) {
        (ValueKind::Number, ValueKind::Number) | (ValueKind::String, ValueKind::String) => Ok(match op {
            "<" => left < right,
            "<=" => left <= right,
            ">" => left > right,
            _ => left >= right,
        }),
        (l, r) => Err(Error::new(ErrorKind::InvalidOperation, format!("{l} and {r} have no order"))),
    }
}

fn write(expr: &Expr<'_>) -> String {
    match expr {
        Expr::Var(v) => v.id.to_owned(),
        Expr::Const(c) => literal(&c.value),
        Expr::UnaryOp(u) => match u.op {
            UnaryOpKind::Not => format!("(not {})", write(&u.expr)),
            UnaryOpKind::Neg => format!("(-{})", write(&u.expr)),
        },
        Expr::BinOp(b) => binary(b.op, &write(&b.left), &write(&b.right)),
        Expr::Compare(c) => {
            let mut left = write(&c.expr);
            let mut links = Vec::new();
            for op in &c.ops {
                let right = write(&op.expr);
                links.push(compare(op.op, &left, &right));
                left = right;
            }
            format!("({})", links.join(" and "))
        }
        Expr::IfExpr(i) => {
            let otherwise = i.false_expr.as_ref().map(|e| format!(" else {}", write(e))).unwrap_or_default();
            format!("({} if {}{otherwise})", write(&i.true_expr), write(&i.test_expr))
        }
        Expr::Filter(f) => {
            let value = f.expr.as_ref().map(write).unwrap_or_default();
            format!("({value}|{}{})", f.name, arguments(&f.args, true))
        }
        Expr::Test(t) => format!("({} is {}{})", write(&t.expr), t.name, arguments(&t.args, true)),
        Expr::GetAttr(g) => format!("{}.{}", write(&g.expr), g.name),
        Expr::GetItem(g) => format!("{}[{}]", write(&g.expr), write(&g.subscript_expr)),
        Expr::Slice(s) => {
            let part = |e: &Option<Expr<'_>>| e.as_ref().map(write).unwrap_or_default();
            format!("{}[{}:{}:{}]", write(&s.expr), part(&s.start), part(&s.stop), part(&s.step))
        }
        Expr::Call(c) => format!("{}{}", write(&c.expr), arguments(&c.args, false)),
        Expr::List(l) => format!("[{}]", list(&l.items)),
        Expr::Tuple(t) => match t.items.as_slice() {
            [one] => format!("({},)", write(one)),
            items => format!("({})", list(items)),
        },
        Expr::Map(m) => {
            let pairs: Vec<String> =
                m.keys.iter().zip(&m.values).map(|(k, v)| format!("{}: {}", write(k), write(v))).collect();
            format!("{{{}}}", pairs.join(", "))
        }
    }
}

fn list(items: &[Expr<'_>]) -> String {
    items.iter().map(write).collect::<Vec<_>>().join(", ")
}

fn arguments(args: &[CallArg<'_>], may_be_left_out: bool) -> String {
    if args.is_empty() && may_be_left_out {
        return String::new();
    }
    let written: Vec<String> = args
        .iter()
        .map(|arg| match arg {
            CallArg::Pos(e) => write(e),
            CallArg::Kwarg(name, e) => format!("{name}={}", write(e)),
            CallArg::PosSplat(e) => format!("*{}", write(e)),
            CallArg::KwargSplat(e) => format!("**{}", write(e)),
        })
        .collect();
    format!("({})", written.join(", "))
}

fn ordered(left: &str, op: &str, right: &str) -> String {
    format!("({left}|{FILTER}(\"{op}\", {right}))")
}

fn compare(op: CompareOpKind, left: &str, right: &str) -> String {
    match op {
        CompareOpKind::Eq => format!("({left} == {right})"),
        CompareOpKind::Ne => format!("({left} != {right})"),
        CompareOpKind::Lt => ordered(left, "<", right),
        CompareOpKind::Lte => ordered(left, "<=", right),
        CompareOpKind::Gt => ordered(left, ">", right),
        CompareOpKind::Gte => ordered(left, ">=", right),
        CompareOpKind::In => format!("({left} in {right})"),
        CompareOpKind::NotIn => format!("({left} not in {right})"),
    }
}

fn binary(op: BinOpKind, left: &str, right: &str) -> String {
    let sign = match op {
        BinOpKind::Lt => return ordered(left, "<", right),
        BinOpKind::Lte => return ordered(left, "<=", right),
        BinOpKind::Gt => return ordered(left, ">", right),
        BinOpKind::Gte => return ordered(left, ">=", right),
        BinOpKind::Eq => "==",
        BinOpKind::Ne => "!=",
        BinOpKind::ScAnd => "and",
        BinOpKind::ScOr => "or",
        BinOpKind::Add => "+",
        BinOpKind::Sub => "-",
        BinOpKind::Mul => "*",
        BinOpKind::Div => "/",
        BinOpKind::FloorDiv => "//",
        BinOpKind::Rem => "%",
        BinOpKind::Pow => "**",
        BinOpKind::Concat => "~",
        BinOpKind::In => "in",
    };
    format!("({left} {sign} {right})")
}

fn literal(value: &Value) -> String {
    match value.kind() {
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned())
        }
        ValueKind::None => "none".to_owned(),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use minijinja::{Environment, context};

    fn eval(source: &str) -> Result<String, String> {
        let mut env = Environment::new();
        env.add_filter(FILTER, |l: Value, op: String, r: Value| order(&l, &op, &r));
        env.add_function("f", |a: i64, b: i64| a * b);
        let source = strict(source).map_err(|e| e.to_string())?;
        let expression = env.compile_expression(&source).map_err(|e| e.to_string())?;
        expression
            .eval(context! { n => 3, s => "a\"\n{b", l => vec![1, 2], o => context! { x => 1 } })
            .map(|v| v.to_string().to_lowercase())
            .map_err(|e| e.to_string())
    }

    #[test]
    fn what_has_no_order_fails_and_the_rest_means_the_same() {
        assert!(eval("none > 100").is_err());
        assert!(eval("\"50\" > 100").is_err());
        assert!(eval("n > 2 and l < 5").is_err());
        for (source, value) in [
            ("n > 2 and not n >= 4", "true"),
            ("1 < n < 3", "false"),
            ("(n + 1) * 2", "8"),
            ("-n ** 2", "9"),
            ("\"a\" < \"b\"", "true"),
            ("s == \"a\\\"\\n{b\"", "true"),
            ("n in l or n not in [1, 2]", "true"),
            ("o.x == 1 if n else 2", "true"),
            ("l[0:1] | length > 0", "true"),
            ("f(n, b=2) if false else f(2, 3)", "6"),
            ("{\"a\": n}.a ~ \"x\"", "3x"),
            ("n is defined and zz is not defined", "true"),
            ("l | map(\"string\") | join(\",\")", "1,2"),
        ] {
            assert_eq!(eval(source).as_deref(), Ok(value), "{source}");
        }
    }
}
