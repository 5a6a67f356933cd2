-- What outsiders are told has changed. A transaction writes its news without a number, beside the change itself; once that is committed,
-- whoever reads numbers what is new, one at a time. So a number never comes before one that was read, however long a transaction
-- stays open, and whatever becomes of it.
CREATE TABLE factum.news (
    lane    int2 NOT NULL,
    tenant  text NOT NULL,
    about   text NOT NULL,
    version int8 NOT NULL,
    topic   text NOT NULL,
    place   int8 NOT NULL,
    records int8 NOT NULL,
    at      int8 NOT NULL,
    CONSTRAINT news_key             PRIMARY KEY (lane, tenant, about, version, topic),
    CONSTRAINT news_lane_is_a_byte  CHECK (lane BETWEEN 0 AND 255),
    CONSTRAINT news_version_rises   CHECK (version >= 1),
    CONSTRAINT news_records_counted CHECK (records >= 0)
);

-- The same with numbers, without gaps. The last row is never removed.
CREATE TABLE factum.notice (
    no      int8 NOT NULL,
    at      int8 NOT NULL,
    tenant  text NOT NULL,
    topic   text NOT NULL,
    about   text NOT NULL,
    version int8 NOT NULL,
    records int8 NOT NULL,
    CONSTRAINT notice_key         PRIMARY KEY (no),
    CONSTRAINT notice_is_numbered CHECK (no >= 1)
);

-- The last number that was given: one row, held by whoever is numbering.
CREATE TABLE factum.notice_last (
    one    int2 NOT NULL,
    number int8 NOT NULL,
    CONSTRAINT notice_last_key        PRIMARY KEY (one),
    CONSTRAINT notice_last_is_one_row CHECK (one = 1),
    CONSTRAINT notice_last_rises      CHECK (number >= 0)
);
INSERT INTO factum.notice_last (one, number) VALUES (1, 0);

-- Numbers at most so many of what is committed, and says how many that were; none where another one is just numbering. READ COMMITTED:
-- what is numbered is looked for after the row of the last number is locked, so that everything with a lower number is committed.
-- The versions of one action rise with the numbers, whichever worker's clock stamped them.
CREATE FUNCTION factum.number_news(p_limit int8) RETURNS int8
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_last  int8;
    v_count int8;
BEGIN
    IF NOT EXISTS (SELECT FROM factum.news) THEN
        RETURN 0;
    END IF;
    SELECT l.number INTO v_last FROM factum.notice_last l WHERE l.one = 1 FOR UPDATE SKIP LOCKED;
    IF v_last IS NULL THEN
        RETURN 0;
    END IF;
    WITH taken AS (
        DELETE FROM factum.news n USING (
            SELECT i.*, max(i.at) OVER (PARTITION BY i.tenant, i.about ORDER BY i.version) AS since FROM factum.news i
            ORDER BY since, i.tenant, i.about, i.version LIMIT p_limit) AS w
        WHERE n.lane = w.lane AND n.tenant = w.tenant AND n.about = w.about AND n.version = w.version AND n.topic = w.topic
        RETURNING n.*, w.since
    )
    INSERT INTO factum.notice (no, at, tenant, topic, about, version, records)
    SELECT v_last + row_number() OVER (ORDER BY t.since, t.tenant, t.about, t.version, t.place),
        t.at, t.tenant, t.topic, t.about, t.version, t.records
    FROM taken t;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    UPDATE factum.notice_last l SET number = v_last + v_count WHERE l.one = 1;
    RETURN v_count;
END $$;
REVOKE ALL ON FUNCTION factum.number_news(int8) FROM PUBLIC;
