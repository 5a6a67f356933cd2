//! Who approves what, as the configuration writes it, turned into what the engine holds submissions against.

use factum_contract::{AmountSettings, ApprovalSettings, Contract, ExemptSettings, parse_span};
use factum_core::Span;
use factum_engine::approval::{ApprovalPolicy, Exempt, HOLDS, Required, UpTo};
use factum_engine::directory::Amount;
use factum_engine::{Code, Problem};

/// As it is configured for one operation.
///
/// # Errors
/// F1040 names the member.
pub(crate) fn policy(
    at: &str,
    contract: &Contract,
    written: &ApprovalSettings,
) -> Result<ApprovalPolicy, Problem> {
    let at = format!("{at}/approval");
    let exempt = |member: &str, list: &[ExemptSettings]| {
        let all = list.iter().enumerate();
        all.map(|(n, one)| exempt(&format!("{at}/{member}/{n}"), contract, one))
            .collect::<Result<Vec<_>, _>>()
    };
    let people = written.people.unwrap_or(1);
    if people == 0 {
        let rule = "nobody would have to approve".to_owned();
        return Err(bad(&at, "/people", rule, "write 1 or more"));
    }
    let people = usize::try_from(people).unwrap_or(usize::MAX);
    if !written.by.is_empty() && written.by.len() < people {
        let rule = format!("{people} have to approve, and {} may", written.by.len());
        return Err(bad(
            &at,
            "/by",
            rule,
            "name more principals, or ask for fewer",
        ));
    }
    Ok(ApprovalPolicy {
        required: required(&at, contract, written)?,
        people,
        by: written.by.clone(),
        own: written.own.unwrap_or(false),
        reason: written.reason.unwrap_or(false),
        holds: holds(&at, written)?,
        waive: exempt("waive", &written.waive)?,
        auto: exempt("auto", &written.auto)?,
    })
}

fn required(
    at: &str,
    contract: &Contract,
    written: &ApprovalSettings,
) -> Result<Required, Problem> {
    match (written.required.as_deref(), &written.over) {
        (Some("never"), None) => Ok(Required::Never),
        (Some("always"), None) => Ok(Required::Always),
        (Some("over"), Some(limit)) => Ok(Required::Over(up_to(
            &format!("{at}/over"),
            contract,
            limit,
        )?)),
        (Some("over"), None) => {
            let rule = "it does not say over which amount".to_owned();
            let remedy = "add over = { amount = \"500\", currency = \"EUR\" }";
            Err(bad(at, "/over", rule, remedy))
        }
        (Some("never" | "always") | None, Some(_)) => {
            let rule = "an amount counts with required = \"over\" alone".to_owned();
            Err(bad(
                at,
                "/over",
                rule,
                "write required = \"over\", or leave it out",
            ))
        }
        (Some(word), _) => {
            let rule = format!("{word:?} is none of never, always and over");
            Err(bad(at, "/required", rule, "write one of them"))
        }
        (None, None) => {
            let rule = "it does not say which submissions need an approval".to_owned();
            let remedy = "add required = \"always\", \"over\" or \"never\"";
            Err(bad(at, "/required", rule, remedy))
        }
    }
}

fn holds(at: &str, written: &ApprovalSettings) -> Result<Span, Problem> {
    let Some(text) = &written.holds else {
        return Ok(HOLDS);
    };
    let holds = parse_span(text).map_err(|error| {
        let remedy = "write a whole number and one of ms, s, min, h, d, as in \"2 h\"";
        bad(at, "/holds", error.to_string(), remedy)
    })?;
    if holds > Span::ZERO {
        return Ok(holds);
    }
    let rule = "nothing could ever be approved".to_owned();
    Err(bad(at, "/holds", rule, "let it hold for some time"))
}

fn exempt(at: &str, contract: &Contract, written: &ExemptSettings) -> Result<Exempt, Problem> {
    if written.principal.is_empty() {
        let rule = "it names nobody".to_owned();
        return Err(bad(
            at,
            "/principal",
            rule,
            "name a principal, or `*` for everybody",
        ));
    }
    let limit = written.up_to.as_ref();
    let limit = limit.map(|limit| up_to(&format!("{at}/up_to"), contract, limit));
    Ok(Exempt {
        principal: written.principal.clone(),
        up_to: limit.transpose()?,
    })
}

/// An amount, where the contract says what it is compared with: else everything would count as more.
fn up_to(at: &str, contract: &Contract, written: &AmountSettings) -> Result<UpTo, Problem> {
    if !contract.says_an_amount() {
        let rule = format!(
            "the contract of {} says no amount that could be compared",
            contract.operation()
        );
        let remedy =
            "use required = \"always\", or add `amount` to [product] in a contract of your own";
        return Err(bad(at, "", rule, remedy));
    }
    let amount = Amount::parse(&written.amount).ok_or_else(|| {
        let rule = format!("{:?} is no amount", written.amount);
        let remedy = "write a decimal number with at most six digits behind the point, as text";
        bad(at, "/amount", rule, remedy)
    })?;
    Ok(UpTo {
        amount,
        currency: written.currency.clone(),
    })
}

fn bad(at: &str, member: &str, rule: String, remedy: &str) -> Problem {
    Problem::new(Code::BadConfig, format!("{at}{member}"), rule, remedy)
}
