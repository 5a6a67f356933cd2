//! What an application's role may do: submit, and read how its own tenant's submissions stand.

use std::time::Duration;

use serde_json::json;
use tokio_postgres::Client;

use super::{Rig, body, connect, id_of, state_of, submit, told};

/// A role that may connect, and nothing else.
async fn role(rig: &Rig, owner: &Client, name: &str) -> String {
    let database = rig.url.rsplit('/').next().unwrap();
    let role = format!("{database}_{name}");
    let sql = format!("CREATE ROLE {role} LOGIN");
    owner.batch_execute(&sql).await.unwrap();
    role
}

/// What the documentation tells an operator to run for an application.
async fn admit(owner: &Client, role: &str, tenant: &str, principal: &str) {
    let sql = format!(
        "INSERT INTO factum.application (role, tenant, principal) VALUES ('{role}', '{tenant}', '{principal}'); \
         GRANT USAGE ON SCHEMA factum TO {role}; \
         GRANT EXECUTE ON FUNCTION factum.submit(jsonb), factum.submitted(text) TO {role}"
    );
    owner.batch_execute(&sql).await.unwrap();
}

async fn connect_as(rig: &Rig, role: &str) -> Client {
    connect(&rig.url.replace("factum@", &format!("{role}@"))).await
}

async fn sees(client: &Client, id: &str) -> bool {
    let sql = "SELECT factum.submitted($1)::text";
    let row = client.query_one(sql, &[&id]).await.unwrap();
    row.get::<_, Option<String>>(0).is_some()
}

// O: a role of an application may submit and read how its tenant's submissions stand, and nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_role_may_submit_and_see_its_own_tenant_and_nothing_else() {
    let rig = Rig::make().await;
    let factum = rig.engine("50 ms").await;
    let owner = connect(&rig.url).await;
    let (shop, desk, other) = (
        role(&rig, &owner, "shop").await,
        role(&rig, &owner, "desk").await,
        role(&rig, &owner, "other").await,
    );
    admit(&owner, &shop, "default", "service:shop").await;
    admit(&owner, &desk, "default", "service:desk").await;
    admit(&owner, &other, "elsewhere", "service:shop").await;
    let app = connect_as(&rig, &shop).await;
    let id = id_of(&submit(&app, &body("mine")).await.unwrap());
    assert_eq!(told(&app, &id).await["recorded"], true);
    let record = factum.engine().load(id.parse().unwrap()).await.unwrap();
    assert_eq!(record.action.scope.principal, "service:shop");
    let forbidden = [
        "SELECT * FROM factum.outbox",
        "SELECT request FROM factum.outbox",
        "SELECT * FROM factum.action",
        "SELECT * FROM factum.identity",
        "SELECT * FROM factum.evidence",
        "SELECT * FROM factum.application",
        "UPDATE factum.standing SET state = 'succeeded'",
        "UPDATE factum.application SET tenant = 'elsewhere'",
        "DELETE FROM factum.outbox",
        "INSERT INTO factum.setting VALUES ('paused', 'x')",
        "SELECT factum.identify(0::int2, sha256(''), gen_random_uuid())",
        "SELECT factum.submitter()",
        "CREATE TABLE factum.mine (n int8)",
        "SELECT nextval('factum.outbox_no')",
    ];
    for sql in forbidden {
        let refused = app.batch_execute(sql).await.unwrap_err();
        assert_eq!(state_of(&refused), "42501", "{sql}");
    }
    // Another application of the same tenant sees it, and has identities of its own; another tenant sees nothing.
    let neighbour = connect_as(&rig, &desk).await;
    let theirs = submit(&neighbour, &body("mine")).await.unwrap();
    assert_ne!(id_of(&theirs), id, "another principal is another scope");
    assert!(sees(&neighbour, &id).await);
    let stranger = connect_as(&rig, &other).await;
    assert!(
        !sees(&stranger, &id).await,
        "another tenant's action is not shown"
    );
    let apart = submit(&stranger, &body("mine")).await.unwrap();
    assert_eq!(
        apart["joined"], false,
        "nothing resolves for another tenant"
    );
    assert!(!sees(&app, &id_of(&apart)).await);
    factum.shutdown(Duration::from_secs(5)).await;
}

// O: who is no application is refused, with what to do about it; and nobody becomes another one by setting a role.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_role_that_is_no_application_is_refused() {
    let rig = Rig::make().await;
    let factum = rig.engine("1 h").await;
    let owner = connect(&rig.url).await;
    let (shop, none, half) = (
        role(&rig, &owner, "shop").await,
        role(&rig, &owner, "none").await,
        role(&rig, &owner, "half").await,
    );
    admit(&owner, &shop, "default", "service:shop").await;
    let stranger = connect_as(&rig, &none).await;
    let refused = submit(&stranger, &body("theirs")).await.unwrap_err();
    assert_eq!(state_of(&refused), "42501");
    // It has the rights of the application's role, and still it is not that role.
    owner
        .batch_execute(&format!("GRANT {shop} TO {half}"))
        .await
        .unwrap();
    let half = connect_as(&rig, &half).await;
    for role in ["NONE", &shop] {
        half.batch_execute(&format!("SET ROLE {role}"))
            .await
            .unwrap();
        let refused = submit(&half, &body("theirs")).await.unwrap_err();
        assert_eq!(state_of(&refused), "42501");
        let hint = refused.as_db_error().unwrap().hint().unwrap_or_default();
        assert!(hint.contains("factum.application"), "{hint}");
    }
    factum.shutdown(Duration::from_secs(5)).await;
}

// O: neither a search path, nor temporary objects, nor settings of a role reach into the functions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn objects_of_an_application_do_not_reach_into_the_functions() {
    let rig = Rig::make().await;
    let factum = rig.engine("50 ms").await;
    let owner = connect(&rig.url).await;
    let shop = role(&rig, &owner, "shop").await;
    admit(&owner, &shop, "default", "service:shop").await;
    let database = rig.url.rsplit('/').next().unwrap();
    let sql = format!("GRANT CREATE ON DATABASE {database} TO {shop}");
    owner.batch_execute(&sql).await.unwrap();
    let app = connect_as(&rig, &shop).await;
    let traps = "CREATE SCHEMA trap; \
        CREATE FUNCTION trap.sha256(bytea) RETURNS bytea LANGUAGE sql AS $$ SELECT '\\x00'::bytea $$; \
        CREATE FUNCTION trap.convert_to(text, name) RETURNS bytea LANGUAGE plpgsql AS \
            $$ BEGIN UPDATE factum.application SET tenant = 'taken'; RETURN '\\x00'; END $$; \
        CREATE FUNCTION trap.same(text, text) RETURNS bool LANGUAGE plpgsql AS \
            $$ BEGIN UPDATE factum.application SET tenant = 'taken'; RETURN true; END $$; \
        CREATE OPERATOR trap.= (LEFTARG = text, RIGHTARG = text, FUNCTION = trap.same); \
        CREATE TEMP TABLE outbox (id uuid, state text); CREATE TEMP TABLE application (role name, tenant text, principal text); \
        CREATE TEMP TABLE identity (lane int2, digest bytea, action uuid); \
        SET search_path = trap, pg_temp, pg_catalog; SET factum.tenant = 'elsewhere'";
    app.batch_execute(traps).await.unwrap();
    let id = id_of(&submit(&app, &body("trapped")).await.unwrap());
    assert_eq!(told(&app, &id).await["recorded"], true);
    let kept = "SELECT tenant, (SELECT count(*) FROM factum.identity) FROM factum.application";
    let row = owner.query_one(kept, &[]).await.unwrap();
    assert_eq!(
        (row.get::<_, &str>(0), row.get::<_, i64>(1)),
        ("default", 1)
    );
    let empty =
        "SELECT (SELECT count(*) FROM pg_temp.outbox) + (SELECT count(*) FROM pg_temp.identity)";
    let row = app.query_one(empty, &[]).await.unwrap();
    assert_eq!(json!(row.get::<_, i64>(0)), json!(0));
    factum.shutdown(Duration::from_secs(5)).await;
}
